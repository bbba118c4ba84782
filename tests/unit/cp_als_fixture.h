/* A problem with its plan, and a run of CP-ALS on it. */
#ifndef UNIT_CP_ALS_FIXTURE_H
#define UNIT_CP_ALS_FIXTURE_H

#include "als_fixture.h"

static inline polyad_cp_als_options options_of(uint64_t rank) {
  polyad_cp_als_options options;
  polyad_cp_als_options_init(&options);
  options.rank = rank;
  return options;
}

struct setting {
  polyad_context *context;
  polyad_tensor *tensor;
  polyad_plan *plan;
};

static inline struct setting set_up(int threads, polyad_type precision) {
  static const uint64_t dims[3] = {300, 40, 200};
  struct setting s = {.context = cpu_context(threads)};
  s.tensor = als_random_tensor(s.context, 3, dims, 20000, 4, 1);
  s.plan = als_plan(s.context, s.tensor, 8, precision);
  return s;
}

static inline void tear_down(struct setting *s) {
  polyad_plan_destroy(s->plan);
  polyad_tensor_destroy(s->tensor);
  context_end(s->context);
}

static inline polyad_ktensor *run(struct setting *s, const polyad_cp_als_options *options,
                                  polyad_run_info *info) {
  polyad_ktensor *model;
  ALS_OK(s->context, polyad_cp_als(s->context, s->plan, options, &model, info));
  als_check_model(model);
  return model;
}

#endif
