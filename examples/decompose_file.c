/* Decomposes a tensor file and prints each component by its strongest labels.
 *
 * usage: decompose_file FILE RANK [MODEL.ktensor] */
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>

/* Prints the strongest row of one column of a factor matrix. */
static void print_strongest(const polyad_tensor *tensor, polyad_ktensor *model, int mode,
                            uint64_t component) {
  const double *factor = polyad_ktensor_factor(model, mode);
  uint64_t rank = polyad_ktensor_rank(model), strongest = 0;
  for (uint64_t i = 1; i < polyad_ktensor_dims(model)[mode]; ++i)
    if (factor[i * rank + component] > factor[strongest * rank + component]) strongest = i;
  const char *name = polyad_tensor_mode_name(tensor, mode);
  size_t length;
  const char *label = polyad_tensor_label(tensor, mode, strongest, &length);
  printf("  %s: ", name != NULL ? name : "mode");
  if (label != NULL)
    printf("%.*s\n", (int)length, label);
  else
    printf("%llu\n", (unsigned long long)strongest + 1);
}

static polyad_status decompose(polyad_context *context, const char *path, uint64_t rank,
                               const char *output) {
  polyad_tensor *tensor = NULL;
  polyad_plan *plan = NULL;
  polyad_ktensor *model = NULL;
  polyad_run_info info = {0};
  polyad_plan_options plan_options;
  polyad_cp_als_options als_options;
  polyad_plan_options_init(&plan_options);
  polyad_cp_als_options_init(&als_options);
  plan_options.rank = rank;
  als_options.rank = rank;
  als_options.nonnegative = 1; /* counts: parts that only add are easier to read */

  polyad_status status = polyad_tensor_read(context, path, NULL, &tensor);
  if (status == POLYAD_OK) status = polyad_plan_create(context, tensor, &plan_options, &plan);
  if (status == POLYAD_OK) status = polyad_cp_als(context, plan, &als_options, &model, &info);
  if (status == POLYAD_OK && output != NULL) status = polyad_ktensor_write(context, model, output);
  if (status == POLYAD_OK) {
    printf("fit %.4f after %d iterations\n", info.fit, info.iterations);
    const double *weights = polyad_ktensor_weights(model);
    for (uint64_t r = 0; r < rank; ++r) {
      printf("component %llu, weight %.4g\n", (unsigned long long)r + 1, weights[r]);
      for (int mode = 0; mode < polyad_tensor_order(tensor); ++mode)
        print_strongest(tensor, model, mode, r);
    }
  }
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  return status;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s FILE RANK [MODEL.ktensor]\n", argv[0]);
    return 2;
  }
  polyad_context *context = NULL;
  polyad_status status = polyad_context_create(&context);
  if (status != POLYAD_OK) {
    fprintf(stderr, "%s\n", polyad_status_string(status));
    return 1;
  }
  status = decompose(context, argv[1], strtoull(argv[2], NULL, 10), argc > 3 ? argv[3] : NULL);
  if (status != POLYAD_OK) fprintf(stderr, "%s\n", polyad_last_error(context));
  polyad_context_destroy(context);
  return status == POLYAD_OK ? 0 : 1;
}
