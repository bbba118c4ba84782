/* Slice and fiber counts of a tensor: what the choice of a format rests on. */
#include "formats/format.h"
#include "tensor/tensor_fibers.h"
#include "tensor/tensor_slices.h"
#include <string.h>

static polyad_status weigh_slices(polyad_context *context, const polyad_tensor *tensor, int mode,
                                  struct pd_traits *traits) {
  uint64_t *sizes, count, nonempty = 0, most = 0;
  PD_TRY(pd_tensor_slice_sizes(context, tensor, mode, &sizes, &count));
  int threads = pd_threads_for(context, count, 1 << 16);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : nonempty)             \
    reduction(max : most)
  for (uint64_t i = 0; i < count; ++i) {
    nonempty += sizes[i] > 0;
    most = sizes[i] > most ? sizes[i] : most;
  }
  traits->nonempty[mode] = nonempty;
  traits->slice_max[mode] = most;
  pd_free(context, sizes);
  return POLYAD_OK;
}

polyad_status pd_traits_compute(polyad_context *context, const polyad_tensor *tensor,
                                struct pd_traits *traits) {
  memset(traits, 0, sizeof *traits);
  traits->order = tensor->order;
  traits->nnz = tensor->nnz;
  memcpy(traits->dims, tensor->dims, sizeof traits->dims);
  for (int n = 0; n < tensor->order; ++n)
    PD_TRY(weigh_slices(context, tensor, n, traits));
  return pd_tensor_sample_fibers(context, tensor, traits->fibers);
}

polyad_status pd_traits_of_request(polyad_context *context, const polyad_tensor *tensor,
                                   const struct pd_request *request, struct pd_traits *traits) {
  if (request->traits == NULL) return pd_traits_compute(context, tensor, traits);
  *traits = *request->traits;
  return POLYAD_OK;
}

polyad_status pd_traits_count_tuples(polyad_context *context, const polyad_tensor *tensor,
                                     struct pd_traits *traits) {
  if (traits->tuples[0][2] > 0) return POLYAD_OK; /* they have been */
  return pd_tensor_sample_tuples(context, tensor, traits->tuples);
}
