/* What is computed at one place of an array while a storage is built: plain functions for the host
 * and for kernels. */
#ifndef PD_BUILD_STEPS_H
#define PD_BUILD_STEPS_H

#include <stdint.h>

#ifdef __CUDACC__
#define PD_BUILD_STEP static __host__ __device__ inline
#else
#define PD_BUILD_STEP static inline
#endif

/** The next part of a sort key, below the bits that the key has: 0 to 32 bits of an index. */
PD_BUILD_STEP uint64_t pd_build_append(uint64_t key, uint32_t index, int bits) {
  return key << bits | index;
}

/** floor(log2(size)) for a size above 0. */
PD_BUILD_STEP int pd_build_class(uint32_t size) {
  int class_of = 0;
  while (size >>= 1)
    ++class_of;
  return class_of;
}

/** The row with place p: the last of `rows` that begins at p or before; none of them is empty. */
PD_BUILD_STEP uint64_t pd_build_row_at(const uint64_t *row_start, uint64_t rows, uint64_t p) {
  uint64_t low = 0, high = rows - 1;
  while (low < high) {
    uint64_t middle = high - (high - low) / 2;
    if (row_start[middle] <= p)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/** Whether nonzero p is the last of its output row; sorted[p] is its output row. */
PD_BUILD_STEP int pd_build_ends(const uint32_t *sorted, uint64_t nnz, uint64_t p) {
  return p < nnz && (p + 1 == nnz || sorted[p] != sorted[p + 1]);
}

/** Whether an output row begins at nonzero p. */
PD_BUILD_STEP int pd_build_begins(const uint32_t *sorted, uint64_t p) {
  return p == 0 || sorted[p] != sorted[p - 1];
}

/** Whether a run begins at nonzero p: an output row does, or an index of the outer inputs differs,
 *  whose bits in plane k are outer_mask[k]. */
PD_BUILD_STEP int pd_build_starts_run(const uint32_t *sorted, const uint32_t *const *plane,
                                      const uint32_t *outer_mask, int planes, uint64_t nnz,
                                      uint64_t p) {
  if (p >= nnz) return 0;
  if (pd_build_begins(sorted, p)) return 1;
  for (int k = 0; k < planes; ++k)
    if (outer_mask[k] != 0 && ((plane[k][p] ^ plane[k][p - 1]) & outer_mask[k]) != 0) return 1;
  return 0;
}

/** Whether a tuple of indices begins at place p of the order of the permutation (NULL: that of the
 *  arrays): nonzeros come in the order of their tuples. */
PD_BUILD_STEP int pd_build_begins_tuple(const uint32_t *const *index, int modes,
                                        const uint32_t *permutation, uint64_t p) {
  if (p == 0) return 1;
  uint64_t here = permutation == 0 ? p : permutation[p];
  uint64_t before = permutation == 0 ? p - 1 : permutation[p - 1];
  for (int k = 0; k < modes; ++k)
    if (index[k][here] != index[k][before]) return 1;
  return 0;
}

/** How many of the leading modes a stable sort must look at, where nonzeros are sorted by mode 0, 1
 *  and so on: those left over come in that order already. `modes` has every mode once. */
PD_BUILD_STEP int pd_build_leading(const int *modes, int count) {
  int leading = count;
  while (leading > 0 && (leading == count || modes[leading - 1] < modes[leading]))
    --leading;
  return leading;
}

#endif
