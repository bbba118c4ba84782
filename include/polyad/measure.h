/** @file
 *  @brief Timing kernels where they run: data on the device, clocks of the device. */
#ifndef POLYAD_MEASURE_H
#define POLYAD_MEASURE_H

#include <polyad/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a kernel is timed. */
typedef struct polyad_measure_options {
  int warmup; /**< runs before the timed ones (default 2) */
  int runs;   /**< timed runs (default 10) */
  int cold;   /**< non-zero: before every run as many bytes are written as the last-level cache
                   holds twice, so that nothing of the run before is left in it */
} polyad_measure_options;

/** Sets defaults: 2 runs before 10 timed ones, caches as the run before left them. */
POLYAD_API void polyad_measure_options_init(polyad_measure_options *options);

/** Times polyad_mttkrp() of one mode with factors that stay on the plan's device: no transfer is
 *  in the times. Ends early, after at least one run, when the context is cancelled.
 *  @param factors  as for polyad_mttkrp()
 *  @param[out] seconds  the time of each run by the device's clock (the host's on a CPU);
 *                       options->runs numbers
 *  @param[out] done  how many runs were timed
 *  @param[out] out  the result of the last run, as from polyad_mttkrp()
 *  @return as polyad_mttkrp() */
POLYAD_API POLYAD_CHECKED polyad_status
polyad_mttkrp_measure(polyad_context *context, const polyad_plan *plan, polyad_workspace *workspace,
                      int mode, const void *const *factors, const polyad_measure_options *options,
                      double *seconds, int *done, void *out);

/** The same for polyad_ttmc(), with a workspace from polyad_ttmc_workspace_create(). */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ttmc_measure(polyad_context *context,
                                                            const polyad_plan *plan,
                                                            polyad_workspace *workspace, int mode,
                                                            const void *const *factors,
                                                            const polyad_measure_options *options,
                                                            double *seconds, int *done, void *out);

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

#ifdef __cplusplus
}
#endif
#endif
