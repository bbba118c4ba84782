/** @file
 *  @brief Timing kernels on a plan: the factors lie on the device, and the device's clock counts.
 */
#ifndef POLYAD_MEASUREMENT_H
#define POLYAD_MEASUREMENT_H

#include <polyad/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A plan, a workspace, and factors on the plan's device. */
typedef struct polyad_measurement polyad_measurement;

/** Prepares runs of kernels with factors of one rank on `plan`, which must outlive the
 *  measurement: MTTKRP, Phi and Pi.
 *  @param factors  one matrix per mode, I_m x rank, row major, of the plan's type; copied
 *  @param[out] measurement  destroyed with polyad_measurement_destroy()
 *  @return POLYAD_OVERFLOW, POLYAD_MEMORY_LIMIT, POLYAD_OUT_OF_MEMORY */
POLYAD_API POLYAD_CHECKED polyad_status polyad_measurement_create(polyad_context *context,
                                                                  const polyad_plan *plan,
                                                                  uint64_t rank,
                                                                  const void *const *factors,
                                                                  polyad_measurement **measurement);
/** The same for the tensor-times-matrix chain, with factors of ranks[n] columns in mode n.
 *  @return also POLYAD_UNSUPPORTED when the format has no such kernel on the plan's device */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ttmc_measurement_create(
    polyad_context *context, const polyad_plan *plan, const uint64_t *ranks,
    const void *const *factors, polyad_measurement **measurement);
/** Destroys a measurement; NULL is fine. */
POLYAD_API void polyad_measurement_destroy(polyad_measurement *measurement);

/** Says what runs find in the caches: what the run before left there (at first), or, when `cold` is
 *  not zero, nothing: before every run twice as many bytes are written as the last-level cache
 *  holds, outside of the time. */
POLYAD_API POLYAD_CHECKED polyad_status polyad_measurement_set_cold(polyad_measurement *measurement,
                                                                    int cold);

/** Runs a kernel of one mode once and waits: POLYAD_KERNEL_MTTKRP, _PHI (from stored rows of Pi
 *  where the format stores them), _PI, which makes those, or, in a measurement made by
 *  polyad_ttmc_measurement_create(), POLYAD_KERNEL_TTMC.
 *  @param epsilon  the least divisor of Phi; not used by others
 *  @param[out] seconds  by the device's own clock where it has one
 *  @return POLYAD_UNSUPPORTED when the format has no such kernel on the plan's device,
 *  POLYAD_MISMATCH when the measurement was made for other kernels, POLYAD_MEMORY_LIMIT */
POLYAD_API POLYAD_CHECKED polyad_status polyad_measurement_run(polyad_measurement *measurement,
                                                               polyad_kernel kernel, int mode,
                                                               double epsilon, double *seconds);
/** Copies what the last run computed: of MTTKRP or Phi I_mode x rank, of the chain
 *  I_mode x polyad_ttmc_columns(), row major.
 *  @return POLYAD_MISMATCH when the last run was of another mode or made no such matrix */
POLYAD_API POLYAD_CHECKED polyad_status
polyad_measurement_result(const polyad_measurement *measurement, int mode, void *out);

#ifdef __cplusplus
}
#endif
#endif
