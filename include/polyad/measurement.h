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

/** Prepares runs of kernels on `plan`, which must outlive the measurement.
 *  @param factors  one matrix per mode, I_m x rank, row major, of the plan's type; copied
 *  @param[out] measurement  destroyed with polyad_measurement_destroy()
 *  @return POLYAD_OVERFLOW, POLYAD_MEMORY_LIMIT, POLYAD_OUT_OF_MEMORY */
POLYAD_API POLYAD_CHECKED polyad_status polyad_measurement_create(polyad_context *context,
                                                                  const polyad_plan *plan,
                                                                  uint64_t rank,
                                                                  const void *const *factors,
                                                                  polyad_measurement **measurement);
/** Destroys a measurement; NULL is fine. */
POLYAD_API void polyad_measurement_destroy(polyad_measurement *measurement);

/** Runs a kernel of one mode once and waits: POLYAD_KERNEL_MTTKRP, _PHI (from stored rows of Pi
 *  where the format stores them), or _PI, which makes those.
 *  @param epsilon  the least divisor of Phi; not used by others
 *  @param[out] seconds  by the device's own clock where it has one
 *  @return POLYAD_UNSUPPORTED when the format has no such kernel on the plan's device */
POLYAD_API POLYAD_CHECKED polyad_status polyad_measurement_run(polyad_measurement *measurement,
                                                               polyad_kernel kernel, int mode,
                                                               double epsilon, double *seconds);
/** Copies what the last run of MTTKRP or Phi computed: I_mode x rank, row major.
 *  @return POLYAD_MISMATCH when the last run was of another mode or made no such matrix */
POLYAD_API POLYAD_CHECKED polyad_status
polyad_measurement_result(const polyad_measurement *measurement, int mode, void *out);

#ifdef __cplusplus
}
#endif
#endif
