/* What `info` tells of a tensor. */
#include "tensor/tensor_fibers.h"
#include "tensor/tensor_slices.h"
#include <math.h>

/* Sums are formed in this many parts whatever the number of threads. */
enum { PARTS = 256, THREAD_GRAIN = 1 << 14 };

static void value_statistics(const polyad_context *context, const polyad_tensor *tensor,
                             polyad_tensor_statistics *statistics) {
  if (tensor->nnz == 0) return;
  int threads = pd_threads_for(context, tensor->nnz, THREAD_GRAIN);
  double sums[PARTS], least = INFINITY, most = -INFINITY;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min                       \
                                                                         : least)                  \
    reduction(max                                                                                  \
              : most)
  for (int part = 0; part < PARTS; ++part) {
    uint64_t end = pd_part_begin(tensor->nnz, part + 1, PARTS);
    sums[part] = 0;
    for (uint64_t p = pd_part_begin(tensor->nnz, part, PARTS); p < end; ++p) {
      double value = pd_tensor_value(tensor, p);
      sums[part] += value;
      least = value < least ? value : least;
      most = value > most ? value : most;
    }
  }
  for (int part = 0; part < PARTS; ++part)
    statistics->value_sum += sums[part];
  statistics->value_min = least;
  statistics->value_max = most;
}

static void summarize_slices(const polyad_context *context, uint64_t length, uint64_t nnz,
                             const uint64_t *counts, int mode,
                             polyad_tensor_statistics *statistics) {
  int threads = pd_threads_for(context, length, THREAD_GRAIN);
  uint64_t slices = 0, most = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : slices)               \
    reduction(max : most)
  for (uint64_t i = 0; i < length; ++i) {
    slices += counts[i] != 0;
    most = counts[i] > most ? counts[i] : most;
  }
  double mean = (double)nnz / (double)slices, sums[PARTS], total = 0;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int part = 0; part < PARTS; ++part) {
    uint64_t end = pd_part_begin(length, part + 1, PARTS);
    sums[part] = 0;
    for (uint64_t i = pd_part_begin(length, part, PARTS); i < end; ++i)
      if (counts[i] != 0) sums[part] += ((double)counts[i] - mean) * ((double)counts[i] - mean);
  }
  for (int part = 0; part < PARTS; ++part)
    total += sums[part];
  statistics->slices[mode] = slices;
  statistics->slice_max[mode] = most;
  statistics->slice_mean[mode] = mean;
  statistics->slice_deviation[mode] = sqrt(total / (double)slices);
}

static polyad_status slice_statistics(polyad_context *context, const polyad_tensor *tensor,
                                      int mode, polyad_tensor_statistics *statistics) {
  if (tensor->nnz == 0) return POLYAD_OK;
  uint64_t *sizes, count;
  PD_TRY(pd_tensor_slice_sizes(context, tensor, mode, &sizes, &count));
  summarize_slices(context, count, tensor->nnz, sizes, mode, statistics);
  pd_free(context, sizes);
  return POLYAD_OK;
}

polyad_status polyad_tensor_statistics_compute(polyad_context *context, const polyad_tensor *tensor,
                                               polyad_tensor_statistics *statistics) {
  PD_ENTER(context);
  PD_EXPECT(context, tensor != NULL && statistics != NULL,
            "a NULL where a tensor and a place for its statistics were expected");
  *statistics = (polyad_tensor_statistics){.density = (double)tensor->nnz};
  statistics->norm = polyad_tensor_norm(tensor);
  value_statistics(context, tensor, statistics);
  for (int n = 0; n < tensor->order; ++n) {
    statistics->density /= (double)tensor->dims[n];
    statistics->key_bits += pd_index_bits(tensor->dims[n]);
    PD_TRY(slice_statistics(context, tensor, n, statistics));
  }
  return pd_tensor_count_fibers(context, tensor, statistics->fibers, &statistics->fibers_exact);
}
