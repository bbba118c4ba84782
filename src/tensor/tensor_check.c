/* The validator of a tensor's invariants. */
#include "core/radix_sort.h"
#include "tensor/tensor.h"
#include <inttypes.h>
#include <math.h>

enum { THREAD_GRAIN = 1 << 14 };

static polyad_status tensor_check_check_mode(polyad_context *context, const polyad_tensor *tensor,
                                             int mode) {
  uint64_t dim = tensor->dims[mode];
  if (dim == 0 || dim > INT64_MAX || tensor->index_bytes[mode] != pd_index_bytes(dim))
    return pd_fail(context, POLYAD_INTERNAL,
                   "mode %d has length %" PRIu64 " and indices of %d bytes",
                   pd_shown_mode(context, mode), dim, tensor->index_bytes[mode]);
  int threads = pd_threads_for(context, tensor->nnz, THREAD_GRAIN);
  uint64_t bad = UINT64_MAX;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : bad)
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    if (pd_tensor_index(tensor, mode, p) >= dim && p < bad) bad = p;
  if (bad == UINT64_MAX) return POLYAD_OK;
  return pd_fail(context, POLYAD_INTERNAL,
                 "nonzero %" PRIu64 " has index %" PRIu64 " in mode %d of length %" PRIu64,
                 pd_shown(context, bad), pd_shown(context, pd_tensor_index(tensor, mode, bad)),
                 pd_shown_mode(context, mode), dim);
}

static polyad_status tensor_check_check_values(polyad_context *context,
                                               const polyad_tensor *tensor) {
  int threads = pd_threads_for(context, tensor->nnz, THREAD_GRAIN);
  uint64_t bad = UINT64_MAX, zeros = 0;
  bool keeps = tensor->zeros == POLYAD_ZEROS_KEEP;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : bad)                \
    reduction(+ : zeros)
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    double value = pd_tensor_value(tensor, p);
    zeros += value == 0;
    if (((value == 0 && !keeps) || !isfinite(value)) && p < bad) bad = p;
  }
  if (bad == UINT64_MAX && zeros != tensor->zeros_kept)
    return pd_fail(context, POLYAD_INTERNAL, "%" PRIu64 " zeros are counted; there are %" PRIu64,
                   tensor->zeros_kept, zeros);
  if (bad == UINT64_MAX) return POLYAD_OK;
  return pd_fail(context, POLYAD_INTERNAL, "nonzero %" PRIu64 " has value %g",
                 pd_shown(context, bad), pd_tensor_value(tensor, bad));
}

polyad_status pd_tensor_check(polyad_context *context, const polyad_tensor *tensor) {
  if (tensor->order < 1 || tensor->order > POLYAD_MAX_ORDER)
    return pd_fail(context, POLYAD_INTERNAL, "a tensor has order %d", tensor->order);
  struct pd_key keys[POLYAD_MAX_ORDER];
  for (int n = 0; n < tensor->order; ++n) {
    PD_TRY(tensor_check_check_mode(context, tensor, n));
    keys[n] = (struct pd_key){tensor->index[n], tensor->index_bytes[n], tensor->dims[n]};
  }
  bool strict;
  if (!pd_is_sorted(context, tensor->nnz, tensor->order, keys, &strict))
    return pd_fail(context, POLYAD_INTERNAL, "the nonzeros of a tensor are not sorted");
  if (!strict)
    return pd_fail(context, POLYAD_INTERNAL, "a coordinate of a tensor occurs more than once");
  return tensor_check_check_values(context, tensor);
}
