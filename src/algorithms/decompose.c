/* From a file, or from arrays, to a CP model in one call. Everything here is a call of the public
 * interface that a program could make itself, in this order: settle the context, check what can
 * fail cheaply, get the tensor, keep its outline (dims and labels), let a plan consume it, fit,
 * write. The context comes first into the result and leaves it last, since all else is freed
 * through it. */
#include "algorithms/nonnegative.h"
#include "algorithms/run_options.h"
#include <polyad/cp_als.h>
#include <polyad/cp_apr.h>
#include <polyad/decompose.h>
#include <stdio.h>
#include <string.h>

/* Where the tensor comes from: one of both. */
struct source {
  const char *path;
  const polyad_tensor_input *input;
};

static bool is_apr(polyad_algorithm algorithm) { return algorithm >= POLYAD_ALGORITHM_APR_MU; }

void polyad_decompose_options_init(polyad_decompose_options *options, polyad_algorithm algorithm) {
  *options = (polyad_decompose_options){
      .algorithm = algorithm, .rank = 16, .precision = POLYAD_F64, .format = "auto"};
  polyad_cp_als_options als;
  polyad_cp_apr_options apr;
  polyad_cp_als_options_init(&als);
  polyad_cp_apr_options_init(&apr);
  options->run = is_apr(algorithm) ? apr.run : als.run;
}

void polyad_decomposition_clear(polyad_decomposition *decomposition) {
  if (decomposition == NULL) return;
  polyad_run_info_clear(&decomposition->info);
  polyad_ktensor_destroy(decomposition->model);
  polyad_tensor_destroy(decomposition->outline);
  polyad_context_destroy(decomposition->owned);
  memset(decomposition, 0, sizeof *decomposition);
}

/* ---- the context ------------------------------------------------------------------------ */

static polyad_status make_context(const polyad_decompose_options *options,
                                  polyad_decomposition *result) {
  PD_TRY(polyad_context_create(&result->owned));
  result->context = result->owned;
  PD_TRY(polyad_set_threads(result->context, options->threads));
  PD_TRY(polyad_set_memory_limit(result->context, options->memory_limit));
  polyad_set_seed(result->context, options->seed);
  return polyad_set_device(result->context, options->device != NULL ? options->device : "auto");
}

/* A context has these settings already: two truths about one run are refused. */
static polyad_status take_context(polyad_context *context, const polyad_decompose_options *options,
                                  polyad_decomposition *result) {
  result->context = context;
  pd_begin(context);
  if (options->device != NULL || options->threads != 0 || options->seed != 0 ||
      options->memory_limit != 0)
    return pd_fail(
        context, POLYAD_INVALID_ARGUMENT,
        "a context and a device, threads, a seed or a memory limit in the options found; "
        "expected them to be set in the context");
  return POLYAD_OK;
}

/* ---- checks that cost nothing ------------------------------------------------------------- */

static polyad_status check_output(polyad_context *context, const char *path) {
  char expected[256], quoted[PD_QUOTE_BYTES];
  if (path == NULL || strcmp(path, "-") == 0) return POLYAD_OK;
  if (polyad_file_format_find(path, POLYAD_CONTENTS_KTENSOR) < 0) {
    (void)polyad_file_extensions(POLYAD_CONTENTS_KTENSOR, expected, sizeof expected);
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "output %s has an extension under which no model is written; expected %s",
                   pd_quote(quoted, path, strlen(path)), expected);
  }
  /* A directory is made at the end: its writer refuses one that is there. */
  if (path[0] != '\0' && path[strlen(path) - 1] == '/') return POLYAD_OK;
  return polyad_output_check(context, path);
}

static polyad_status check_all(polyad_context *context, const struct source *source,
                               const polyad_decompose_options *options) {
  PD_EXPECT(context, source->path != NULL || source->input != NULL,
            "NULL found; expected the path of a file, or arrays");
  PD_EXPECT(context,
            (int)options->algorithm >= 0 && options->algorithm <= POLYAD_ALGORITHM_APR_PQNR,
            "algorithm %d found; expected 0 to %d", (int)options->algorithm,
            (int)POLYAD_ALGORITHM_APR_PQNR);
  PD_TRY(pd_nonnegative_check_algorithm(context, options->nonnegative_modes, options->algorithm));
  PD_EXPECT(context, options->rank >= 1, "rank 0 found; expected at least 1");
  PD_TRY(pd_run_options_check(context, &options->run, 0));
  return check_output(context, options->output);
}

/* ---- the work ---------------------------------------------------------------------------- */

static polyad_status get_tensor(polyad_context *context, const struct source *source,
                                const polyad_decompose_options *options, polyad_tensor **tensor) {
  if (source->path == NULL) return polyad_tensor_create(context, source->input, tensor);
  polyad_read_options read;
  polyad_read_options_init(&read);
  read.type = options->precision;
  (void)polyad_device(context); /* settles "auto"; a GPU readies itself while the file is read */
  return polyad_tensor_read(context, source->path, options->read != NULL ? options->read : &read,
                            tensor);
}

static polyad_status decompose_make_plan(polyad_context *context,
                                         const polyad_decompose_options *options,
                                         polyad_tensor **tensor, polyad_plan **plan) {
  polyad_plan_options choice;
  polyad_plan_options_init(&choice);
  choice.format = options->format;
  choice.rank = options->rank;
  choice.precision = options->precision;
  if (options->algorithm >= POLYAD_ALGORITHM_APR_MU) choice.kernel = POLYAD_KERNEL_PHI;
  choice.sweeps = polyad_expected_sweeps(&options->run, choice.kernel);
  return polyad_plan_create_take(context, tensor, &choice, plan);
}

static polyad_status fit(polyad_context *context, const polyad_decompose_options *options,
                         const polyad_plan *plan, polyad_decomposition *result) {
  if (is_apr(options->algorithm)) {
    polyad_cp_apr_options apr;
    polyad_cp_apr_options_init(&apr);
    apr.run = options->run;
    apr.rank = options->rank;
    apr.method =
        (polyad_apr_method)(POLYAD_APR_MU + (options->algorithm - POLYAD_ALGORITHM_APR_MU));
    return polyad_cp_apr(context, plan, &apr, &result->model, &result->info);
  }
  polyad_cp_als_options als;
  polyad_cp_als_options_init(&als);
  als.run = options->run;
  als.rank = options->rank;
  als.nonnegative = options->algorithm == POLYAD_ALGORITHM_NONNEGATIVE;
  als.nonnegative_modes = options->nonnegative_modes;
  return polyad_cp_als(context, plan, &als, &result->model, &result->info);
}

static polyad_status work(const struct source *source, const polyad_decompose_options *options,
                          polyad_decomposition *result) {
  polyad_context *context = result->context;
  polyad_tensor *tensor = NULL;
  polyad_plan *plan = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(check_all(context, source, options));
  PD_TRY_CLEANUP(get_tensor(context, source, options, &tensor));
  PD_TRY_CLEANUP(polyad_tensor_outline(context, tensor, &result->outline));
  PD_TRY_CLEANUP(decompose_make_plan(context, options, &tensor, &plan));
  PD_TRY_CLEANUP(fit(context, options, plan, result));
  if (options->output != NULL)
    PD_TRY_CLEANUP(
        polyad_ktensor_write_labelled(context, result->model, result->outline, options->output));
cleanup:
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  return status;
}

/* After a failure only the message is left, and the context, which a caller may ask for the place.
 */
static void keep_message(polyad_status status, polyad_decomposition *result) {
  const char *text = result->context != NULL ? polyad_last_error(result->context) : "";
  if (text[0] == '\0') text = polyad_status_string(status);
  snprintf(result->message, sizeof result->message, "%s", text);
  polyad_run_info_clear(&result->info);
  polyad_ktensor_destroy(result->model);
  polyad_tensor_destroy(result->outline);
  result->model = NULL;
  result->outline = NULL;
}

static polyad_status to_model(polyad_context *context, const struct source *source,
                              const polyad_decompose_options *given, polyad_decomposition *result) {
  polyad_decompose_options options;
  if (result == NULL) return POLYAD_INVALID_ARGUMENT;
  polyad_decomposition_clear(result);
  if (given != NULL)
    options = *given;
  else
    polyad_decompose_options_init(&options, POLYAD_ALGORITHM_ALS);
  polyad_status status =
      context != NULL ? take_context(context, &options, result) : make_context(&options, result);
  if (status == POLYAD_OK) status = work(source, &options, result);
  if (status != POLYAD_OK) keep_message(status, result);
  return status;
}

polyad_status polyad_decompose_file(polyad_context *context, const char *path,
                                    const polyad_decompose_options *options,
                                    polyad_decomposition *result) {
  return to_model(context, &(struct source){.path = path}, options, result);
}

polyad_status polyad_decompose_arrays(polyad_context *context, const polyad_tensor_input *input,
                                      const polyad_decompose_options *options,
                                      polyad_decomposition *result) {
  return to_model(context, &(struct source){.input = input}, options, result);
}
