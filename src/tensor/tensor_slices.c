#include "tensor/tensor_slices.h"
#include "core/radix_sort.h"
#include <string.h>

enum { THREAD_GRAIN = 1 << 14, PRIVATE_COUNTS = 1 << 22 /* of all threads together */ };

/* Adds the lengths of runs of equal indices, for threads that share the counts. */
static void add_runs(const polyad_tensor *tensor, int mode, uint64_t begin, uint64_t end,
                     uint64_t *counts) {
  for (uint64_t p = begin, next; p < end; p = next) {
    uint64_t i = pd_tensor_index(tensor, mode, p);
    for (next = p + 1; next < end && pd_tensor_index(tensor, mode, next) == i;)
      ++next;
#pragma omp atomic
    counts[i] += next - p;
  }
}

/* Counts from four places at once: neighbours often have the same index, and then each addition
 * waits for the one before. */
static inline __attribute__((always_inline)) void count_slices_sized(const polyad_tensor *tensor,
                                                                     int mode, int bytes,
                                                                     uint64_t begin, uint64_t end,
                                                                     uint64_t *counts) {
  const uint32_t *narrow = tensor->index[mode];
  const uint64_t *wide = tensor->index[mode];
  uint64_t quarter = (end - begin) / 4, rest = begin + 4 * quarter;
  for (uint64_t p = begin; p < begin + quarter; ++p)
    for (uint64_t q = p, k = 0; k < 4; ++k, q += quarter)
      ++counts[bytes == 4 ? narrow[q] : wide[q]];
  for (uint64_t p = rest; p < end; ++p)
    ++counts[bytes == 4 ? narrow[p] : wide[p]];
}

/* The first nonzero from p on whose first index is larger; the tensor is sorted. Steps that double
 * pass it, and halves find it. */
static uint64_t end_of_slice(const polyad_tensor *tensor, uint64_t p, uint64_t end) {
  const uint64_t i = pd_tensor_index(tensor, 0, p);
  uint64_t step = 1, next = p + 1;
  while (next < end && pd_tensor_index(tensor, 0, next) == i) {
    p = next;
    step *= 2;
    next = end - p > step ? p + step : end;
  }
  while (next - p > 1) { /* p is in the slice, next is not */
    uint64_t middle = p + (next - p) / 2;
    if (pd_tensor_index(tensor, 0, middle) == i)
      p = middle;
    else
      next = middle;
  }
  return next;
}

static void tensor_slices_count_part(const polyad_tensor *tensor, int mode, uint64_t begin,
                                     uint64_t end, uint64_t *counts) {
  if (mode == 0)
    for (uint64_t p = begin, next; p < end; p = next) {
      next = end_of_slice(tensor, p, end);
      counts[pd_tensor_index(tensor, 0, p)] += next - p;
    }
  else if (tensor->index_bytes[mode] == 4)
    count_slices_sized(tensor, mode, 4, begin, end, counts);
  else
    count_slices_sized(tensor, mode, 8, begin, end, counts);
}

/* Every thread has counts of its own: few indices would make threads wait for each other. */
static polyad_status count_privately(polyad_context *context, const polyad_tensor *tensor, int mode,
                                     int threads, uint64_t *counts) {
  uint64_t dim = tensor->dims[mode], each = pd_apart(dim), *own;
  PD_TRY(PD_NEW_ZERO(context, pd_mul_saturated(each, (uint64_t)threads), &own));
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static, 1)
    for (int part = 0; part < threads; ++part)
      tensor_slices_count_part(tensor, mode, pd_part_begin(tensor->nnz, part, threads),
                               pd_part_begin(tensor->nnz, part + 1, threads),
                               own + (uint64_t)part * each);
#pragma omp for schedule(static)
    for (uint64_t i = 0; i < dim; ++i) {
      uint64_t sum = 0;
      for (int part = 0; part < threads; ++part)
        sum += own[(uint64_t)part * each + i];
      counts[i] = sum;
    }
  }
  pd_free(context, own);
  return POLYAD_OK;
}

polyad_status pd_tensor_count_indices(polyad_context *context, const polyad_tensor *tensor,
                                      int mode, uint64_t *counts) {
  int threads = pd_threads_for(context, tensor->nnz, THREAD_GRAIN);
  uint64_t dim = tensor->dims[mode];
  if (threads > 1 && dim <= PRIVATE_COUNTS / (uint64_t)threads)
    return count_privately(context, tensor, mode, threads, counts);
  memset(counts, 0, dim * sizeof *counts);
  if (threads == 1) {
    tensor_slices_count_part(tensor, mode, 0, tensor->nnz, counts);
    return POLYAD_OK;
  }
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part)
    add_runs(tensor, mode, pd_part_begin(tensor->nnz, part, threads),
             pd_part_begin(tensor->nnz, part + 1, threads), counts);
  return POLYAD_OK;
}

/* Lengths of runs of sorted indices, written over them. */
static polyad_status sizes_of_runs(polyad_context *context, const polyad_tensor *tensor, int mode,
                                   uint64_t *sizes, uint64_t *count) {
  int bits = pd_index_bits(tensor->dims[mode]);
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    sizes[p] = pd_tensor_index(tensor, mode, p);
  if (mode != 0) PD_TRY(pd_sort_u64(context, tensor->nnz, sizes, bits, NULL, 0));
  *count = 0;
  for (uint64_t p = 0, next; p < tensor->nnz; p = next) {
    next = p + 1;
    while (next < tensor->nnz && sizes[next] == sizes[p])
      ++next;
    sizes[(*count)++] = next - p;
  }
  return POLYAD_OK;
}

polyad_status pd_tensor_slice_sizes(polyad_context *context, const polyad_tensor *tensor, int mode,
                                    uint64_t **sizes, uint64_t *count) {
  uint64_t dim = tensor->dims[mode];
  bool few = dim / 2 > tensor->nnz;
  *count = few ? tensor->nnz : dim;
  PD_TRY(PD_NEW(context, *count, sizes));
  polyad_status status = few ? sizes_of_runs(context, tensor, mode, *sizes, count)
                             : pd_tensor_count_indices(context, tensor, mode, *sizes);
  if (status == POLYAD_OK) return POLYAD_OK;
  pd_free(context, *sizes);
  *sizes = NULL;
  return status;
}
