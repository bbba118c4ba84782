#include "tensor/tensor_sort.h"
#include "core/bits.h"
#include "core/radix_sort.h"
#include <string.h>

/* Coordinates whose varying bits fit 64 are packed into one key that carries the value along.
 * Longer ones are first moved to buckets by their leading bits: within a bucket either the rest
 * fits, or it is small enough that a permutation costs little. */
enum {
  THREAD_GRAIN = 1 << 14,
  BLOCK = 1024,
  DIGIT_BITS = 12,
  DIGITS = 1 << DIGIT_BITS,
  SMALL = 1 << 18
};

/* Nonzeros begin to end - 1, and the bits of each mode's indices that vary among them. */
struct range {
  uint64_t begin, end;
  int bits[POLYAD_MAX_ORDER];
  int all_bits;
};

static void *at(void *array, uint64_t place, size_t item) { return (char *)array + place * item; }

static struct range tensor_sort_measure(const polyad_context *context, const polyad_tensor *tensor,
                                        uint64_t begin, uint64_t end) {
  struct range range = {.begin = begin, .end = end};
  int threads = pd_threads_for(context, end - begin, THREAD_GRAIN);
  for (int n = 0; n < tensor->order; ++n) {
    uint64_t differ = 0;
    if (tensor->index_bytes[n] == 4) {
      const uint32_t *index = tensor->index[n];
#pragma omp parallel for num_threads(threads) schedule(static) reduction(| : differ)
      for (uint64_t p = begin; p < end; ++p)
        differ |= index[p] ^ index[begin];
    } else {
      const uint64_t *index = tensor->index[n];
#pragma omp parallel for num_threads(threads) schedule(static) reduction(| : differ)
      for (uint64_t p = begin; p < end; ++p)
        differ |= index[p] ^ index[begin];
    }
    range.bits[n] = pd_bit_length(differ);
    range.all_bits += range.bits[n];
  }
  return range;
}

/* ---- one key -----------------------------------------------------------------------------------
 */

static void pack_block(const polyad_tensor *tensor, const struct range *range, uint64_t begin,
                       uint64_t end, uint64_t *keys) {
  memset(keys, 0, (end - begin) * sizeof *keys);
  for (int n = 0; n < tensor->order; ++n) {
    int bits = range->bits[n];
    uint64_t mask = pd_low_mask(bits);
    if (bits == 0) continue;
    for (uint64_t p = begin; p < end; ++p)
      keys[p - begin] =
          (bits < 64 ? keys[p - begin] << bits : 0) | (pd_tensor_index(tensor, n, p) & mask);
  }
}

static void unpack_block(polyad_tensor *tensor, const struct range *range, const uint64_t *constant,
                         uint64_t begin, uint64_t end, uint64_t *keys) {
  for (int n = tensor->order - 1; n >= 0; --n) {
    int bits = range->bits[n];
    uint64_t mask = pd_low_mask(bits);
    if (tensor->index_bytes[n] == 4) {
      uint32_t *index = tensor->index[n];
      for (uint64_t p = begin; p < end; ++p)
        index[p] = (uint32_t)(constant[n] | (keys[p - begin] & mask));
    } else {
      uint64_t *index = tensor->index[n];
      for (uint64_t p = begin; p < end; ++p)
        index[p] = constant[n] | (keys[p - begin] & mask);
    }
    for (uint64_t p = begin; bits < 64 && p < end; ++p)
      keys[p - begin] >>= bits;
  }
}

static polyad_status sort_packed(polyad_context *context, polyad_tensor *tensor,
                                 const struct range *range) {
  uint64_t count = range->end - range->begin, *keys, constant[POLYAD_MAX_ORDER];
  bool whole = count == tensor->nnz;
  size_t item = pd_type_bytes(tensor->type);
  int threads = pd_threads_for(context, count, THREAD_GRAIN);
  PD_TRY(PD_NEW(context, count, &keys));
  for (int n = 0; n < tensor->order; ++n)
    constant[n] = pd_tensor_index(tensor, n, range->begin) & ~pd_low_mask(range->bits[n]);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = range->begin; p < range->end; p += BLOCK)
    pack_block(tensor, range, p, p + BLOCK < range->end ? p + BLOCK : range->end,
               keys + (p - range->begin));
  /* The index arrays are given up while their tensor's keys are sorted: they would add to the
   * peak. */
  for (int n = 0; whole && n < tensor->order; ++n) {
    pd_free(context, tensor->index[n]);
    tensor->index[n] = NULL;
  }
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_sort_u64(context, count, keys, range->all_bits,
                             at(tensor->values, range->begin, item), item));
  for (int n = 0; whole && n < tensor->order; ++n)
    PD_TRY_CLEANUP(pd_alloc(context, count, (size_t)tensor->index_bytes[n], &tensor->index[n]));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = range->begin; p < range->end; p += BLOCK)
    unpack_block(tensor, range, constant, p, p + BLOCK < range->end ? p + BLOCK : range->end,
                 keys + (p - range->begin));

cleanup:
  pd_free(context, keys);
  return status;
}

/* ---- a permutation of few nonzeros -------------------------------------------------------------
 */

static polyad_status permute(polyad_context *context, uint64_t count, const uint32_t *permutation,
                             size_t item, void *array) {
  void *sorted;
  PD_TRY(pd_alloc(context, count, item, &sorted));
  pd_gather(context, count, permutation, sizeof *permutation, array, item, sorted);
  memcpy(array, sorted, (size_t)count * item);
  pd_free(context, sorted);
  return POLYAD_OK;
}

static polyad_status sort_by_permutation(polyad_context *context, polyad_tensor *tensor,
                                         const struct range *range) {
  uint64_t count = range->end - range->begin;
  struct pd_key keys[POLYAD_MAX_ORDER];
  for (int n = 0; n < tensor->order; ++n) {
    size_t item = (size_t)tensor->index_bytes[n];
    keys[n] = (struct pd_key){at(tensor->index[n], range->begin, item), (int)item, tensor->dims[n]};
  }
  uint32_t *permutation;
  PD_TRY(PD_NEW(context, count, &permutation));
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_sort_permutation(context, count, tensor->order, keys, 4, permutation));
  for (int n = 0; n < tensor->order; ++n) {
    size_t item = (size_t)tensor->index_bytes[n];
    PD_TRY_CLEANUP(
        permute(context, count, permutation, item, at(tensor->index[n], range->begin, item)));
  }
  size_t item = pd_type_bytes(tensor->type);
  status = permute(context, count, permutation, item, at(tensor->values, range->begin, item));
cleanup:
  pd_free(context, permutation);
  return status;
}

/* ---- buckets -----------------------------------------------------------------------------------
 */

/* The leading DIGIT_BITS of a coordinate's varying bits. */
static inline uint64_t leading_digit(const polyad_tensor *tensor, const struct range *range,
                                     uint64_t p) {
  uint64_t digit = 0;
  for (int n = 0, room = DIGIT_BITS; room > 0; ++n) {
    int bits = range->bits[n], taken = bits < room ? bits : room;
    uint64_t index = pd_tensor_index(tensor, n, p) & pd_low_mask(bits);
    digit = digit << taken | (taken == 0 ? 0 : index >> (bits - taken));
    room -= taken;
  }
  return digit;
}

static void set_place(void *places, int bytes, uint64_t p, uint64_t place) {
  if (bytes == 4)
    ((uint32_t *)places)[p] = (uint32_t)place;
  else
    ((uint64_t *)places)[p] = place;
}

static uint64_t get_place(const void *places, int bytes, uint64_t p) {
  return bytes == 4 ? ((const uint32_t *)places)[p] : ((const uint64_t *)places)[p];
}

/* Where each nonzero of the range goes; bucket d will begin at begin[d] of the range. */
static void tensor_sort_find_places(const polyad_tensor *tensor, const struct range *range,
                                    int threads, uint64_t (*next)[DIGITS], void *places, int bytes,
                                    uint64_t *begin) {
  uint64_t count = range->end - range->begin, place = 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    uint64_t end = pd_part_begin(count, part + 1, threads);
    memset(next[part], 0, sizeof next[part]);
    for (uint64_t p = pd_part_begin(count, part, threads); p < end; ++p)
      ++next[part][leading_digit(tensor, range, range->begin + p)];
  }
  for (int digit = 0; digit < DIGITS; ++digit) {
    begin[digit] = place;
    for (int part = 0; part < threads; ++part) {
      uint64_t size = next[part][digit];
      next[part][digit] = place;
      place += size;
    }
  }
  begin[DIGITS] = place;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    uint64_t end = pd_part_begin(count, part + 1, threads);
    for (uint64_t p = pd_part_begin(count, part, threads); p < end; ++p)
      set_place(places, bytes, p, next[part][leading_digit(tensor, range, range->begin + p)]++);
  }
}

/* Moves the items of one array to their places; a whole array is replaced, not copied back. */
static polyad_status move_items(polyad_context *context, const struct range *range, bool whole,
                                const void *places, int bytes, size_t item, void **array) {
  uint64_t count = range->end - range->begin;
  int threads = pd_threads_for(context, count, THREAD_GRAIN);
  char *from = at(*array, range->begin, item);
  void *moved;
  PD_TRY(pd_alloc(context, count, item, &moved));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < count; ++p) {
    uint64_t place = get_place(places, bytes, p);
    if (item == 4)
      memcpy((char *)moved + place * 4, from + p * 4, 4);
    else
      memcpy((char *)moved + place * 8, from + p * 8, 8);
  }
  if (whole) {
    pd_free(context, *array);
    *array = moved;
  } else {
    memcpy(from, moved, (size_t)count * item);
    pd_free(context, moved);
  }
  return POLYAD_OK;
}

static polyad_status move_to_buckets(polyad_context *context, polyad_tensor *tensor,
                                     const struct range *range, uint64_t *begin) {
  uint64_t count = range->end - range->begin;
  bool whole = count == tensor->nnz;
  int threads = pd_threads_for(context, count, THREAD_GRAIN);
  int bytes = count <= UINT64_C(1) << 32 ? 4 : 8;
  uint64_t(*next)[DIGITS] = NULL;
  void *places = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(PD_NEW(context, (uint64_t)threads, &next));
  PD_TRY_CLEANUP(pd_alloc(context, count, (size_t)bytes, &places));
  tensor_sort_find_places(tensor, range, threads, next, places, bytes, begin);
  for (int n = 0; n < tensor->order; ++n)
    PD_TRY_CLEANUP(move_items(context, range, whole, places, bytes, (size_t)tensor->index_bytes[n],
                              &tensor->index[n]));
  status = move_items(context, range, whole, places, bytes, pd_type_bytes(tensor->type),
                      &tensor->values);
cleanup:
  pd_free(context, places);
  pd_free(context, next);
  return status;
}

/* Each bucket has DIGIT_BITS fewer varying bits, so that this ends. */
static polyad_status sort_range(polyad_context *context, polyad_tensor *tensor, uint64_t first,
                                uint64_t end) {
  if (end - first < 2) return POLYAD_OK;
  struct range range = tensor_sort_measure(context, tensor, first, end);
  if (range.all_bits == 0) return POLYAD_OK;
  if (range.all_bits <= 64) return sort_packed(context, tensor, &range);
  if (end - first <= SMALL) return sort_by_permutation(context, tensor, &range);
  uint64_t *begin;
  PD_TRY(PD_NEW(context, DIGITS + 1, &begin));
  polyad_status status = move_to_buckets(context, tensor, &range, begin);
  for (int digit = 0; digit < DIGITS && status == POLYAD_OK; ++digit)
    status = sort_range(context, tensor, first + begin[digit], first + begin[digit + 1]);
  pd_free(context, begin);
  return status;
}

polyad_status pd_tensor_sort(polyad_context *context, polyad_tensor *tensor, bool *strict) {
  struct pd_key keys[POLYAD_MAX_ORDER];
  for (int n = 0; n < tensor->order; ++n)
    keys[n] = (struct pd_key){tensor->index[n], tensor->index_bytes[n], tensor->dims[n]};
  if (pd_is_sorted(context, tensor->nnz, tensor->order, keys, strict)) return POLYAD_OK;
  return sort_range(context, tensor, 0, tensor->nnz);
}
