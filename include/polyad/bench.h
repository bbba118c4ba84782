/** @file
 *  @brief Measuring: times of kernels on a plan, rates that bound them, and STREAM.
 *
 *  The command `polyad bench` is made from these functions. They show the inside of the library as
 *  it is now: unlike <polyad/polyad.h>, which does not include this header, they may change or go
 *  with any release, a patch release too, and the soname does not count them. */
#ifndef POLYAD_BENCH_H
#define POLYAD_BENCH_H

#include <polyad/context.h>
#include <polyad/plan.h>
#include <polyad/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @name Kernels on a plan
 *  The factors lie on the plan's device, and the device's clock counts.
 *  @{ */

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
/** Prepares runs of the tensor-times-matrix chain on `plan`, which must outlive the measurement.
 *  @param ranks    numbers of columns: one per mode
 *  @param factors  one matrix per mode, I_n x ranks[n], row major, of the plan's type; copied
 *  @param[out] measurement  destroyed with polyad_measurement_destroy()
 *  @return POLYAD_UNSUPPORTED when the format has no such kernel on the plan's device, and the
 * errors of polyad_measurement_create() */
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

/** @} */

/** @name Rates that bound kernels: copying, gathering, adding, computing
 *  @{ */

/** What bounds kernels on a device. */
typedef enum polyad_roof {
  POLYAD_ROOF_COPY = 0,   /**< copying an array; bytes, read and written together */
  POLYAD_ROOF_GATHER = 1, /**< reading rows of a table in random order; bytes of the rows */
  POLYAD_ROOF_ADD = 2,    /**< adding ones to rows of a table in random order; numbers added. With
                               atomic operations on a GPU, each thread to its own rows on a CPU */
  POLYAD_ROOF_FLOPS = 3   /**< multiplying and adding in registers; additions and multiplications */
} polyad_roof;

/** Measures one of them on the context's device.
 *  @param type  type of the numbers
 *  @param rank  numbers in a row of the table (POLYAD_ROOF_GATHER, POLYAD_ROOF_ADD)
 *  @param bytes  size of the table (at least one row), or of both arrays of POLYAD_ROOF_COPY
 *  @param runs  how often to run it
 *  @param[out] seconds  the time of each run by the device's clock; `runs` numbers
 *  @param[out] work  bytes, numbers or operations of one run
 *  @return POLYAD_UNSUPPORTED when the device has no such measurement, POLYAD_INVALID_ARGUMENT,
 *  POLYAD_OVERFLOW, POLYAD_MEMORY_LIMIT, POLYAD_OUT_OF_MEMORY */
POLYAD_API POLYAD_CHECKED polyad_status polyad_roof_measure(polyad_context *context,
                                                            polyad_roof what, polyad_type type,
                                                            uint64_t rank, uint64_t bytes, int runs,
                                                            double *seconds, double *work);

/** @} */

/** @name STREAM: the bandwidth that a device's memory sustains (J. D. McCalpin's four loops)
 *  Every loop exists twice: tuned by hand for the device, and portable, from one source for all
 *  devices. Comparing the two shows what writing a kernel once costs.
 *  @{ */

/** The loops. */
typedef enum polyad_stream_loop {
  POLYAD_STREAM_COPY = 0,  /**< c = a */
  POLYAD_STREAM_SCALE = 1, /**< b = s c */
  POLYAD_STREAM_ADD = 2,   /**< c = a + b */
  POLYAD_STREAM_TRIAD = 3  /**< a = b + s c */
} polyad_stream_loop;

/** Three arrays on the context's device. */
typedef struct polyad_stream polyad_stream;

/** Allocates and fills three arrays of `count` numbers on the context's device.
 *  @param count  at least 1; rounded up to a multiple of 4096
 *  @param[out] stream  destroyed with polyad_stream_destroy() before the context
 *  @return POLYAD_UNSUPPORTED when the device has no such loops, POLYAD_OVERFLOW,
 *  POLYAD_MEMORY_LIMIT, POLYAD_OUT_OF_MEMORY */
POLYAD_API POLYAD_CHECKED polyad_status polyad_stream_create(polyad_context *context,
                                                             uint64_t count, polyad_type type,
                                                             polyad_stream **stream);
/** Destroys the arrays; NULL is fine. */
POLYAD_API void polyad_stream_destroy(polyad_stream *stream);

/** Whether the device has the loops tuned by hand (portable 0) or portable (1). */
POLYAD_API int polyad_stream_has(const polyad_stream *stream, int portable);

/** Bytes that one run of a loop reads and writes, as STREAM counts them: the stores' reads of
 *  the lines they overwrite are not counted. */
POLYAD_API double polyad_stream_bytes(const polyad_stream *stream, polyad_stream_loop loop);

/** Runs a loop once and waits.
 *  @param portable  0: tuned by hand for the device; 1: from the source for all devices
 *  @param[out] seconds  by the device's own clock where it has one
 *  @return POLYAD_UNSUPPORTED when the device lacks it */
POLYAD_API POLYAD_CHECKED polyad_status polyad_stream_run(polyad_stream *stream,
                                                          polyad_stream_loop loop, int portable,
                                                          double *seconds);
/** Runs a loop once from known contents and compares its result (at most the first 2^24 numbers)
 *  with the same operation on the host.
 *  @param[out] error  the largest relative difference */
POLYAD_API POLYAD_CHECKED polyad_status polyad_stream_check(polyad_stream *stream,
                                                            polyad_stream_loop loop, int portable,
                                                            double *error);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
