/* Decomposes a tensor file and prints each component by its strongest labels.
 *
 * usage: decompose_file FILE RANK [MODEL.ktensor] */
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>

/* Prints the row of largest magnitude of one column of a factor matrix, by its label. */
static void print_strongest(const polyad_decomposition *result, int mode, uint64_t component) {
  uint64_t row;
  if (polyad_ktensor_top(result->context, result->model, mode, component, 1, &row) != POLYAD_OK)
    return;
  const char *name = polyad_tensor_mode_name(result->outline, mode);
  size_t length;
  const char *label = polyad_tensor_label(result->outline, mode, row, &length);
  printf("  %s: ", name != NULL ? name : "mode");
  if (label != NULL)
    printf("%.*s\n", (int)length, label);
  else
    printf("%llu\n", (unsigned long long)row + 1); /* files count from 1 */
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s FILE RANK [MODEL.ktensor]\n", argv[0]);
    return 2;
  }
  /* Counts: parts that only add are easier to read. */
  polyad_decompose_options options;
  polyad_decompose_options_init(&options, POLYAD_ALGORITHM_NONNEGATIVE);
  options.rank = strtoull(argv[2], NULL, 10);
  options.output = argc > 3 ? argv[3] : NULL;

  polyad_decomposition result = {0};
  polyad_status status = polyad_decompose_file(NULL, argv[1], &options, &result);
  if (status == POLYAD_OK) {
    const double *weights = polyad_ktensor_weights(result.model);
    printf("fit %.4f after %d iterations\n", result.info.fit, result.info.iterations);
    for (uint64_t r = 0; r < options.rank; ++r) {
      printf("component %llu, weight %.4g\n", (unsigned long long)r + 1, weights[r]);
      for (int mode = 0; mode < polyad_tensor_order(result.outline); ++mode)
        print_strongest(&result, mode, r);
    }
  } else {
    fprintf(stderr, "%s\n", result.message);
  }
  polyad_decomposition_clear(&result);
  return status == POLYAD_OK ? 0 : 1;
}
