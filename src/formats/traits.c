/* Slice and fiber counts of a tensor: what the choice of a format rests on. */
#include "core/radix_sort.h"
#include "formats/format.h"
#include <math.h>
#include <string.h>

static void count_run(struct pd_traits *traits, int mode, uint64_t length) {
  if (length == 0) return;
  traits->nonempty[mode]++;
  if (length > traits->slice_max[mode]) traits->slice_max[mode] = length;
}

/* Mode 0 is sorted: its slices are runs. */
static void slices_of_runs(const polyad_tensor *tensor, struct pd_traits *traits) {
  uint64_t length = 0;
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    if (p > 0 && pd_tensor_index(tensor, 0, p) != pd_tensor_index(tensor, 0, p - 1)) {
      count_run(traits, 0, length);
      length = 0;
    }
    ++length;
  }
  count_run(traits, 0, length);
}

static polyad_status slices_by_counting(polyad_context *context, const polyad_tensor *tensor,
                                        int mode, struct pd_traits *traits) {
  uint64_t *count;
  PD_TRY(PD_NEW_ZERO(context, tensor->dims[mode], &count));
  if (tensor->index_bytes[mode] == 4) {
    const uint32_t *index = tensor->index[mode];
    for (uint64_t p = 0; p < tensor->nnz; ++p)
      count[index[p]]++;
  } else {
    const uint64_t *index = tensor->index[mode];
    for (uint64_t p = 0; p < tensor->nnz; ++p)
      count[index[p]]++;
  }
  for (uint64_t i = 0; i < tensor->dims[mode]; ++i)
    count_run(traits, mode, count[i]);
  pd_free(context, count);
  return POLYAD_OK;
}

/* For a mode that is much longer than the tensor has nonzeros. */
static polyad_status slices_by_sorting(polyad_context *context, const polyad_tensor *tensor,
                                       int mode, struct pd_traits *traits) {
  uint64_t *keys;
  PD_TRY(PD_NEW(context, tensor->nnz, &keys));
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    keys[p] = pd_tensor_index(tensor, mode, p);
  polyad_status status =
      pd_sort_u64(context, tensor->nnz, keys, pd_index_bits(tensor->dims[mode]), NULL, 0);
  if (status == POLYAD_OK) {
    uint64_t length = 0;
    for (uint64_t p = 0; p < tensor->nnz; ++p) {
      if (p > 0 && keys[p] != keys[p - 1]) {
        count_run(traits, mode, length);
        length = 0;
      }
      ++length;
    }
    count_run(traits, mode, length);
  }
  pd_free(context, keys);
  return status;
}

static uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

/* Distinct hashes are counted from the longest run of leading zeros in each of 2^12 classes (P.
 * Flajolet et al., HyperLogLog, 2007); small counts from the empty classes. */
enum { SKETCH_BITS = 12, SKETCH = 1 << SKETCH_BITS };

static double sketch_count(const uint8_t *longest) {
  double sum = 0;
  int empty = 0;
  for (int k = 0; k < SKETCH; ++k) {
    sum += ldexp(1, -longest[k]);
    empty += longest[k] == 0;
  }
  double count = 0.7213 / (1 + 1.079 / SKETCH) * SKETCH * SKETCH / sum;
  return count <= 2.5 * SKETCH && empty > 0 ? SKETCH * log((double)SKETCH / empty) : count;
}

/* A fiber along a mode is known by the indices of the other modes: the hash of all less the
 * mode's share. The maximum of sketches does not depend on how threads divide the work. */
static void sketch_part(const polyad_tensor *tensor, uint64_t begin, uint64_t end,
                        uint8_t (*longest)[SKETCH]) {
  for (uint64_t p = begin; p < end; ++p) {
    uint64_t share[POLYAD_MAX_ORDER], all = 0;
    for (int n = 0; n < tensor->order; ++n) {
      share[n] = mix((pd_tensor_index(tensor, n, p) + 1) * UINT64_C(0x9E3779B97F4A7C15) +
                     (uint64_t)n * UINT64_C(0xD1B54A32D192ED03));
      all += share[n];
    }
    for (int n = 0; n < tensor->order; ++n) {
      uint64_t hash = mix(all - share[n]), rest = hash << SKETCH_BITS | 1;
      uint8_t *place = &longest[n][hash >> (64 - SKETCH_BITS)];
      uint8_t zeros = (uint8_t)(__builtin_clzll(rest) + 1);
      if (zeros > *place) *place = zeros;
    }
  }
}

static polyad_status count_fibers(polyad_context *context, const polyad_tensor *tensor,
                                  struct pd_traits *traits) {
  int threads = pd_threads_for(context, tensor->nnz, 1 << 14);
  int order = tensor->order;
  uint8_t(*longest)[SKETCH]; /* of each thread and mode */
  PD_TRY(PD_NEW_ZERO(context, (uint64_t)threads * (uint64_t)order, &longest));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    sketch_part(tensor, pd_part_begin(tensor->nnz, t, threads),
                pd_part_begin(tensor->nnz, t + 1, threads), longest + t * order);
  for (int n = 0; n < order; ++n) {
    for (int t = 1; t < threads; ++t)
      for (int k = 0; k < SKETCH; ++k)
        if (longest[t * order + n][k] > longest[n][k]) longest[n][k] = longest[t * order + n][k];
    uint64_t fibers = (uint64_t)(sketch_count(longest[n]) + 0.5);
    traits->fibers[n] = fibers < tensor->nnz ? fibers : tensor->nnz;
  }
  pd_free(context, longest);
  return POLYAD_OK;
}

polyad_status pd_traits_compute(polyad_context *context, const polyad_tensor *tensor,
                                struct pd_traits *traits) {
  memset(traits, 0, sizeof *traits);
  traits->order = tensor->order;
  traits->nnz = tensor->nnz;
  memcpy(traits->dims, tensor->dims, sizeof traits->dims);
  slices_of_runs(tensor, traits);
  for (int n = 1; n < tensor->order; ++n) {
    bool countable = tensor->dims[n] / 4 <= tensor->nnz + 1024;
    PD_TRY(countable ? slices_by_counting(context, tensor, n, traits)
                     : slices_by_sorting(context, tensor, n, traits));
  }
  return count_fibers(context, tensor, traits);
}
