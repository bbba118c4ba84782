/* Resuming from a checkpoint. The first byte chooses the algorithm and whether the rest is a whole
 * file, or changes to a good one: places (two bytes) and new values (one byte each), after which
 * length and checksum are made right again, as a fuzzer could not. */
#include "fuzz_input.h"

#include "io/checkpoint_format.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { RANK = 2, RUNS = 7, LARGEST = 1 << 14 };

/* An algorithm with the plan that it runs on and the checkpoint of its first two iterations. */
struct run {
  enum { APR, ALS, COMPLETE } algorithm;
  int nonnegative;
  polyad_apr_method method;
  polyad_complete_method complete;
  polyad_type type;
  polyad_plan *plan;
  uint8_t state[LARGEST];
  size_t bytes;
};
static struct run runs[RUNS] = {
    {.algorithm = ALS, .type = POLYAD_F64},
    {.algorithm = ALS, .nonnegative = 1, .type = POLYAD_F32},
    {.method = POLYAD_APR_MU, .type = POLYAD_F64},
    {.method = POLYAD_APR_PDNR, .type = POLYAD_F32},
    {.method = POLYAD_APR_PQNR, .type = POLYAD_F64},
    {.algorithm = COMPLETE, .complete = POLYAD_COMPLETE_ALS, .type = POLYAD_F64},
    {.algorithm = COMPLETE, .complete = POLYAD_COMPLETE_SGD, .type = POLYAD_F32},
};

static polyad_tensor *make_tensor(polyad_context *context) {
  static const uint64_t dims[] = {3, 2, 2};
  static const uint32_t index[][3] = {{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {2, 1, 0}, {2, 0, 0}};
  static const double values[] = {1, 2, 3, 1, 4};
  return fuzz_tensor(context, 3, dims, 5, index[0], values);
}

/* Three iterations in all; `resume` and `checkpoint` may be NULL. */
static polyad_status run_once(polyad_context *context, const struct run *run, int iterations,
                              const char *resume, const char *checkpoint, polyad_ktensor **model) {
  if (run->algorithm == ALS) {
    polyad_cp_als_options options;
    polyad_cp_als_options_init(&options);
    options.rank = RANK;
    options.run.max_iterations = iterations;
    options.run.tolerance = 0;
    options.nonnegative = run->nonnegative;
    options.run.resume = resume;
    options.run.checkpoint = checkpoint;
    return polyad_cp_als(context, run->plan, &options, model, NULL);
  }
  if (run->algorithm == COMPLETE) {
    polyad_cp_complete_options options;
    polyad_cp_complete_options_init(&options);
    options.rank = RANK;
    options.method = run->complete;
    options.run.max_iterations = iterations;
    options.run.tolerance = 0;
    options.run.resume = resume;
    options.run.checkpoint = checkpoint;
    return polyad_cp_complete(context, run->plan, &options, model, NULL);
  }
  polyad_cp_apr_options options;
  polyad_cp_apr_options_init(&options);
  options.rank = RANK;
  options.run.max_iterations = iterations;
  options.method = run->method;
  options.run.resume = resume;
  options.run.checkpoint = checkpoint;
  return polyad_cp_apr(context, run->plan, &options, model, NULL);
}

static void make_state(polyad_context *context, const polyad_tensor *tensor, struct run *run) {
  char path[96];
  polyad_plan_options options;
  polyad_ktensor *model;
  polyad_plan_options_init(&options);
  options.rank = RANK;
  options.precision = run->type;
  options.format = "coo";
  fuzz_require(polyad_plan_create(context, tensor, &options, &run->plan) == POLYAD_OK, "a plan");
  snprintf(path, sizeof path, "%s/state", fuzz_folder());
  fuzz_require(run_once(context, run, 2, NULL, path, &model) == POLYAD_OK, "a run");
  polyad_ktensor_destroy(model);
  run->bytes = fuzz_take_file(path, run->state, LARGEST);
  fuzz_require(run->bytes > sizeof(struct pd_checkpoint_head), "a whole checkpoint");
}

static void prepare(polyad_context *context) {
  if (runs[0].plan != NULL) return;
  polyad_tensor *tensor = make_tensor(context);
  for (int k = 0; k < RUNS; ++k)
    make_state(context, tensor, &runs[k]);
  polyad_tensor_destroy(tensor);
  fuzz_keep(context);
}

static void seal(uint8_t *bytes, size_t size) {
  struct pd_checkpoint_head head;
  memcpy(&head, bytes, sizeof head);
  head.bytes = size - sizeof head;
  head.checksum = XXH3_64bits(bytes + sizeof head, size - sizeof head);
  memcpy(bytes, &head, sizeof head);
}

static void require_finite(polyad_ktensor *model) {
  for (int n = 0; n < polyad_ktensor_order(model); ++n) {
    uint64_t count = polyad_ktensor_dims(model)[n] * RANK;
    const void *factor = polyad_ktensor_factor(model, n);
    for (uint64_t k = 0; k < count; ++k)
      fuzz_require(polyad_ktensor_type(model) == POLYAD_F32 ? isfinite(((const float *)factor)[k])
                                                            : isfinite(((const double *)factor)[k]),
                   "a finite model");
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static uint8_t bytes[2 * LARGEST];
  if (size == 0) return 0;
  polyad_context *context = fuzz_begin(1);
  prepare(context);
  uint8_t how = fuzz_take_byte(&data, &size);
  const struct run *run = &runs[how % RUNS];
  polyad_ktensor *model = NULL;
  const char *path;
  if (how / RUNS % 4 == 0) {
    path = fuzz_file(data, size);
  } else {
    size_t length = fuzz_change(run->state, run->bytes, 63, data, size, bytes);
    if (length >= sizeof(struct pd_checkpoint_head)) seal(bytes, length);
    path = fuzz_file(bytes, length);
  }
  polyad_status status = run_once(context, run, 3, path, NULL, &model);
  if (status == POLYAD_OK)
    require_finite(model);
  else
    fuzz_check_failure(context, status);
  fuzz_require((status == POLYAD_OK) == (model != NULL), "a model or an error");
  polyad_ktensor_destroy(model);
  fuzz_end(context);
  return 0;
}
