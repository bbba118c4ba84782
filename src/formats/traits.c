/* Slice counts of a tensor: what the choice of a format rests on. */
#include "core/radix_sort.h"
#include "formats/format.h"
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
  return POLYAD_OK;
}
