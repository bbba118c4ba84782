/** @file
 *  @brief From a file, or from arrays, to a CP model in one call.
 *
 *  polyad_decompose_file() and polyad_decompose_arrays() do what a program otherwise does with a
 *  context, a tensor, a plan and polyad_cp_als() or polyad_cp_apr(), and return all results in one
 *  struct. A program needs no context for them: with NULL they make one and keep it with the
 *  results. */
#ifndef POLYAD_DECOMPOSE_H
#define POLYAD_DECOMPOSE_H

#include <polyad/context.h>
#include <polyad/io.h>
#include <polyad/model.h>
#include <polyad/run.h>
#include <polyad/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What to fit, and with what. Start from polyad_decompose_options_init(). */
typedef struct polyad_decompose_options {
  polyad_run_options run;     /**< starts, limits, tolerance, checkpoints: of the algorithm */
  polyad_algorithm algorithm; /**< what fits the model */
  uint32_t nonnegative_modes; /**< of POLYAD_ALGORITHM_ALS: the modes whose factors stay
                                   nonnegative, bit n for mode n; default 0 */
  uint64_t rank;              /**< number of components R, at least 1; default 16 */
  polyad_type precision;      /**< type of values and factors; default POLYAD_F64 */
  const char *format;         /**< storage format, as polyad_plan_options::format; default "auto" */
  const char *output;         /**< file that the model is written to as well, with names and labels
                                   where its file format keeps them, as
                                   polyad_ktensor_write_labelled() does; that it can be written is
                                   checked before the work starts; NULL (default): none */
  const polyad_read_options *read; /**< polyad_decompose_file(): how the file is read; NULL
                                        (default): the defaults of polyad_read_options_init(), with
                                        values of type `precision` */
  const char *device;    /**< without a context: as polyad_set_device(); NULL (default): "auto" */
  int threads;           /**< without a context: as polyad_set_threads(); 0 (default): all
                              processors that this process may use */
  uint64_t seed;         /**< without a context: as polyad_set_seed(); default 0 */
  uint64_t memory_limit; /**< without a context: bytes, as polyad_set_memory_limit(); 0 (default):
                              what the machine has */
} polyad_decompose_options;

/** Sets the defaults named above for `algorithm`, and those of polyad_run_options as
 *  polyad_cp_als_options_init() or polyad_cp_apr_options_init() have them. */
POLYAD_API void polyad_decompose_options_init(polyad_decompose_options *options,
                                              polyad_algorithm algorithm);

/** A model and what is known of it. Start with all zero; free with polyad_decomposition_clear(). */
typedef struct polyad_decomposition {
  polyad_ktensor *model;  /**< weights and factor matrices; NULL after a failure */
  polyad_tensor *outline; /**< dims, mode names and labels of the tensor, without its nonzeros; NULL
                               after a failure */
  polyad_run_info info;   /**< fit, iterations, times, the trace */
  polyad_context *context; /**< the caller's, or the one that was made and belongs to the result:
                              for further calls with the model, such as polyad_ktensor_values() */
  char message[1024];      /**< what went wrong, in words, as polyad_last_error() gives it; "" when
                                nothing did */
  polyad_context *owned;   /**< private */
} polyad_decomposition;

/** Frees all that the call made, its context too where the caller gave none, and sets everything to
 *  zero; NULL is fine. */
POLYAD_API void polyad_decomposition_clear(polyad_decomposition *decomposition);

/** Reads a tensor from a file and fits a CP model to it.
 *  @param context  NULL: one is made as the options say, and kept with the result. With a context
 * its device, threads, seed and memory limit count, and those of the options must have their
 * defaults; progress and messages go where it says, polyad_cancel() ends the run with the model so
 * far, and the context outlives the result
 *  @param path     file, or "-" for standard input
 *  @param options  NULL: the defaults, by POLYAD_ALGORITHM_ALS
 *  @param[in,out] result  what was in it is freed first; after a failure its `message` says why
 *  @return what polyad_tensor_read(), polyad_plan_create(), polyad_cp_als() or polyad_cp_apr(), and
 *  polyad_ktensor_write_labelled() return; POLYAD_INVALID_ARGUMENT */
POLYAD_API POLYAD_CHECKED polyad_status
polyad_decompose_file(polyad_context *context, const char *path,
                      const polyad_decompose_options *options, polyad_decomposition *result);

/** Makes a tensor from coordinates and values in memory and fits a CP model to it.
 *  @param input  what polyad_tensor_create() takes; copied
 *  The other parameters and the result are those of polyad_decompose_file().
 *  @return what polyad_tensor_create() returns in place of polyad_tensor_read() */
POLYAD_API POLYAD_CHECKED polyad_status
polyad_decompose_arrays(polyad_context *context, const polyad_tensor_input *input,
                        const polyad_decompose_options *options, polyad_decomposition *result);

#ifdef __cplusplus
}
#endif
#endif
