/* Makes a tensor from arrays in memory and finds the two patterns that are in it. */
#include <polyad/polyad.h>
#include <stdio.h>

enum { USERS = 6, ITEMS = 5, WEEKS = 4 };

int main(void) {
  /* Users 0-2 take items 0-1 in weeks 0-1; users 3-5 take items 2-4 in weeks 2-3. */
  int32_t index[48][3];
  double value[48];
  uint64_t nnz = 0;
  for (int user = 0; user < USERS; ++user)
    for (int item = 0; item < ITEMS; ++item)
      for (int week = 0; week < WEEKS; ++week)
        if ((user < 3) == (item < 2) && (user < 3) == (week < 2)) {
          index[nnz][0] = user;
          index[nnz][1] = item;
          index[nnz][2] = week;
          value[nnz++] = user < 3 ? 5 : 2;
        }

  /* One pointer and one stride in bytes per mode: rows of (nnz, 3) pass without a copy. */
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  input.order = 3;
  input.nnz = nnz;
  input.index_type = POLYAD_I32;
  for (int mode = 0; mode < 3; ++mode) {
    input.index[mode] = &index[0][mode];
    input.index_stride[mode] = sizeof index[0];
  }
  input.values = value;
  input.value_stride = sizeof value[0];

  polyad_decompose_options options;
  polyad_decompose_options_init(&options, POLYAD_ALGORITHM_ALS);
  options.rank = 2;
  options.run.starts = 3;

  polyad_decomposition result = {0};
  polyad_status status = polyad_decompose_arrays(NULL, &input, &options, &result);
  if (status == POLYAD_OK)
    printf("fit %.6f, best of %d starts: number %d\n", result.info.fit, options.run.starts,
           result.info.best_restart + 1);
  else
    fprintf(stderr, "%s\n", result.message);
  polyad_decomposition_clear(&result);
  return status == POLYAD_OK ? 0 : 1;
}
