#include "team_methods.h"
#include "core/numbers.h"
#include "core/random.h"
#include "tensor/tensor.h"
#include <math.h>

polyad_tensor *method_tensor(polyad_context *context, enum method method) {
  static const uint64_t dims[3] = {40, 30, 35};
  if (method == MU) return als_random_tensor(context, 3, dims, 4000, 2, 1);
  polyad_ktensor *model = als_random_model(context, 3, dims, 3, 11, method == NONNEGATIVE);
  polyad_tensor *exact = als_tensor_of_model(context, model);
  double *value = exact->values;
  for (uint64_t p = 0; p < exact->nnz; ++p)
    value[p] += 0.1 * pd_random_normal(4, 0, p);
  polyad_ktensor_destroy(model);
  return exact;
}

polyad_tensor *method_hostile(polyad_context *context, int entries) {
  static const uint64_t dims[4] = {90, 1, 50, 3};
  int32_t index[HOSTILE_NNZ * 4];
  double value[HOSTILE_NNZ];
  for (int p = 0; p < HOSTILE_NNZ; ++p) {
    index[4 * p] = p % 4 == 0 ? 2 * (p % 40) : 7;
    index[4 * p + 1] = 0;
    index[4 * p + 2] = (p * 7) % 50;
    index[4 * p + 3] = p % 3 == 0 ? 2 : 0;
    value[p] = 1 + p % 5;
  }
  return als_tensor(context, 4, dims, (uint64_t)entries, index, value);
}

polyad_status method_decompose(polyad_context *context, const polyad_plan *plan, enum method method,
                               uint64_t rank, const polyad_run_options *run, polyad_ktensor **model,
                               polyad_run_info *info) {
  if (method == MU) {
    polyad_cp_apr_options options;
    polyad_cp_apr_options_init(&options);
    options.run = *run;
    options.rank = rank;
    return polyad_cp_apr(context, plan, &options, model, info);
  }
  polyad_cp_als_options options;
  polyad_cp_als_options_init(&options);
  options.run = *run;
  options.rank = rank;
  options.nonnegative = method == NONNEGATIVE;
  options.nonnegative_modes = method == PARTLY ? 1 << 1 : 0;
  return polyad_cp_als(context, plan, &options, model, info);
}

double largest_difference(polyad_ktensor *a, polyad_ktensor *b) {
  double most = 0;
  uint64_t rank = polyad_ktensor_rank(a);
  for (int n = 0; n < polyad_ktensor_order(a); ++n)
    for (uint64_t k = 0; k < polyad_ktensor_dims(a)[n] * rank; ++k)
      most = fmax(most, fabs(pd_load(polyad_ktensor_type(a), polyad_ktensor_factor(a, n), k) -
                             pd_load(polyad_ktensor_type(b), polyad_ktensor_factor(b, n), k)));
  return most;
}
