/* A side's tuples are found by sorting the nonzeros, as packed records whose keys begin with the
 * side's modes, and marking where a tuple begins; tuples are numbered in that order. The side's
 * pass is made of these records. Where it is to be sorted anew, by tiles or for a GPU, the records
 * are unpacked into a small tensor: the nonzeros with the number of their tuple in place of the
 * side's modes. The tuples themselves are another one. */
#include "formats/twotree/twotree_tuples.h"
#include <string.h>

enum { THREAD_GRAIN = 1 << 14 };

static void put_number(void *numbers, int bytes, uint64_t p, uint64_t number) {
  if (bytes == 4)
    ((uint32_t *)numbers)[p] = (uint32_t)number;
  else
    ((uint64_t *)numbers)[p] = number;
}

/* ---- sorting ----------------------------------------------------------------------------------
 */

/* Called when all nonzeros are packed: the tensor's memory serves what comes next. */
static polyad_status give_up_tensor(polyad_context *context, void *tensor) {
  (void)context;
  pd_tensor_free_arrays(tensor);
  return POLYAD_OK;
}

/* Keys are the side's modes and then the others, in the order of `column`. */
static polyad_status sort_tuples(polyad_context *context, polyad_tensor *tensor, bool take,
                                 const int *column, struct pd_twotree_sorted *s) {
  const struct pd_record_source source = {
      .tensor = tensor, .packed = take ? give_up_tensor : NULL, .user = tensor};
  for (int k = 0; k < s->modes->count; ++k)
    pd_layout_add(&s->layout, s->modes->mode[k], 0, pd_index_bits(s->dims[s->modes->mode[k]]));
  s->tuple_bits = s->layout.key_bits;
  for (int k = 0; k < s->modes->others; ++k)
    pd_layout_add(&s->layout, column[k], 0, pd_index_bits(s->dims[column[k]]));
  PD_TRY(pd_room_create_values(context, tensor, s->layout.key_bits, &s->room));
  pd_layout_end_values(&s->layout, tensor->type, s->room.value_bits);
  PD_TRY(pd_records_sort(context, &source, &s->layout, pd_layout_unsorted_bits(&s->layout),
                         &s->room, NULL, NULL));
  pd_free(context, s->room.spare);
  s->room.spare = NULL;
  return POLYAD_OK;
}

/* ---- where tuples begin -----------------------------------------------------------------------
 */

/* Bits that tell tuples apart, in each word of a record. */
struct tuple_mask {
  uint64_t word[PD_RECORD_WORDS_MAX];
};

static struct tuple_mask mask_of(const struct pd_twotree_sorted *s) {
  struct tuple_mask mask = {{0}};
  for (int w = 0, bits = s->tuple_bits; bits > 0; ++w, bits -= 64)
    mask.word[w] = bits >= 64 ? UINT64_MAX : ~(UINT64_MAX >> bits);
  return mask;
}

static inline __attribute__((always_inline)) bool
begins_tuple(const uint64_t *records, uint64_t p, int words, const struct tuple_mask *mask) {
  const uint64_t *here = records + p * (uint64_t)words;
  uint64_t differ = 0;
  if (p == 0) return true;
  for (int w = 0; w < words; ++w)
    differ |= (here[w] ^ here[w - words]) & mask->word[w];
  return differ != 0;
}

static inline __attribute__((always_inline)) uint64_t
count_tuples_sized(const struct pd_twotree_sorted *s, uint64_t begin, uint64_t end, int words) {
  const struct tuple_mask mask = mask_of(s);
  uint64_t tuples = 0;
  for (uint64_t p = begin; p < end; ++p)
    tuples += begins_tuple(s->room.records, p, words, &mask);
  return tuples;
}

/* From back to front, so that a tuple's first nonzero is written last: no branch depends on where
 * tuples begin. `tuple` is the number of the part's last one. */
static inline __attribute__((always_inline)) void
list_tuples_sized(const struct pd_twotree_sorted *s, uint64_t begin, uint64_t end, uint64_t tuple,
                  int words, int bytes) {
  const struct tuple_mask mask = mask_of(s);
  /* Nonzeros at the front may belong to the last tuple of the part before, which is written
   * by whom it begins with. */
  while (begin < end && !begins_tuple(s->room.records, begin, words, &mask))
    ++begin;
  for (uint64_t p = end; p-- > begin;) {
    put_number(s->start, bytes, tuple, p);
    tuple -= begins_tuple(s->room.records, p, words, &mask);
  }
}

static uint64_t count_part(const struct pd_twotree_sorted *s, uint64_t begin, uint64_t end) {
  return s->layout.words == 1   ? count_tuples_sized(s, begin, end, 1)
         : s->layout.words == 2 ? count_tuples_sized(s, begin, end, 2)
                                : count_tuples_sized(s, begin, end, s->layout.words);
}

static void list_part(const struct pd_twotree_sorted *s, uint64_t begin, uint64_t end,
                      uint64_t tuple) {
  if (s->layout.words == 1 && s->start_bytes == 4)
    list_tuples_sized(s, begin, end, tuple, 1, 4);
  else if (s->layout.words == 2 && s->start_bytes == 4)
    list_tuples_sized(s, begin, end, tuple, 2, 4);
  else
    list_tuples_sized(s, begin, end, tuple, s->layout.words, s->start_bytes);
}

/* Where each tuple begins. Parts are counted first, so that each knows the numbers of its own. */
static polyad_status list_tuples(polyad_context *context, struct pd_twotree_sorted *s) {
  int threads = pd_threads_for(context, s->nnz, THREAD_GRAIN);
  uint64_t *before;
  PD_TRY(PD_NEW_ZERO(context, (uint64_t)threads + 1, &before));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    before[t + 1] =
        count_part(s, pd_part_begin(s->nnz, t, threads), pd_part_begin(s->nnz, t + 1, threads));
  for (int t = 0; t < threads; ++t)
    before[t + 1] += before[t];
  s->tuples = before[threads];
  polyad_status status = pd_alloc(context, s->tuples + 1, (size_t)s->start_bytes, &s->start);
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (status == POLYAD_OK)
  for (int t = 0; t < threads; ++t)
    if (status == POLYAD_OK)
      list_part(s, pd_part_begin(s->nnz, t, threads), pd_part_begin(s->nnz, t + 1, threads),
                before[t + 1] - 1);
  if (status == POLYAD_OK) put_number(s->start, s->start_bytes, s->tuples, s->nnz);
  pd_free(context, before);
  return status;
}

/* The indices of each tuple, from its first nonzero. */
static polyad_status name_tuples(polyad_context *context, const struct pd_twotree_sorted *s,
                                 struct pd_twotree_side *side) {
  int threads = pd_threads_for(context, s->tuples, THREAD_GRAIN);
  side->tuples = s->tuples;
  for (int k = 0; k < s->modes->count; ++k) {
    side->id_bytes[k] = pd_index_bytes(s->dims[s->modes->mode[k]]);
    PD_TRY(pd_alloc(context, s->tuples, (size_t)side->id_bytes[k], &side->tuple_id[k]));
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t t = 0; t < s->tuples; ++t) {
    uint64_t first = pd_twotree_number_at(s->start, s->start_bytes, t);
    const uint64_t *record = s->room.records + first * (uint64_t)s->layout.words;
    for (int k = 0; k < s->modes->count; ++k)
      put_number(side->tuple_id[k], side->id_bytes[k], t,
                 pd_record_index(&s->layout, record, s->modes->mode[k]));
  }
  return POLYAD_OK;
}

void pd_twotree_sorted_clear(polyad_context *context, struct pd_twotree_sorted *s) {
  pd_room_destroy(context, &s->room);
  PD_FREE(context, s->start, s->number, s->values);
  for (int k = 0; k < PD_TWOTREE_MAX_ORDER; ++k)
    pd_free(context, s->index[k]);
  *s = (struct pd_twotree_sorted){0};
}

polyad_status pd_twotree_sorted_make(polyad_context *context, polyad_tensor *tensor, bool take,
                                     const int *column, bool wide, struct pd_twotree_side *side,
                                     struct pd_twotree_sorted *s) {
  *s = (struct pd_twotree_sorted){.context = context,
                                  .modes = &side->modes,
                                  .nnz = tensor->nnz,
                                  .order = tensor->order,
                                  .type = tensor->type,
                                  .bytes = pd_twotree_number_bytes(tensor->nnz),
                                  .start_bytes = wide ? 8 : pd_twotree_number_bytes(tensor->nnz)};
  memcpy(s->dims, tensor->dims, sizeof s->dims);
  PD_TRY(sort_tuples(context, tensor, take, column, s));
  PD_TRY(list_tuples(context, s));
  return name_tuples(context, s, side);
}

/* ---- unpacking --------------------------------------------------------------------------------
 */

/* One array of the unpacked nonzeros: of a mode, or for mode -1 of the values. */
static polyad_status unpack_one(polyad_context *context, const struct pd_twotree_sorted *s,
                                int mode, int bytes, void **to) {
  enum { BLOCK = 1 << 12 };
  int threads = pd_threads_for(context, s->nnz, THREAD_GRAIN);
  uint64_t blocks = (s->nnz + BLOCK - 1) / BLOCK;
  PD_TRY(pd_alloc(context, s->nnz, (size_t)bytes, to));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t block = 0; block < blocks; ++block) {
    uint64_t first = block * BLOCK, count = s->nnz - first < BLOCK ? s->nnz - first : BLOCK;
    const uint64_t *records = s->room.records + first * (uint64_t)s->layout.words;
    char *place = (char *)*to + first * (uint64_t)bytes;
    if (mode < 0)
      pd_records_values(&s->layout, count, records, place);
    else
      pd_records_index(&s->layout, count, records, mode, bytes, place);
  }
  return POLYAD_OK;
}

polyad_status pd_twotree_sorted_unpack(polyad_context *context, struct pd_twotree_sorted *s) {
  int threads = pd_threads_for(context, s->tuples, THREAD_GRAIN);
  PD_TRY(pd_alloc(context, s->nnz, (size_t)s->bytes, &s->number));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t t = 0; t < s->tuples; ++t) {
    uint64_t end = pd_twotree_number_at(s->start, s->start_bytes, t + 1);
    for (uint64_t p = pd_twotree_number_at(s->start, s->start_bytes, t); p < end; ++p)
      put_number(s->number, s->bytes, p, t);
  }
  for (int k = 0; k < s->modes->others; ++k) {
    int n = s->modes->other[k];
    PD_TRY(unpack_one(context, s, n, pd_index_bytes(s->dims[n]), &s->index[k]));
  }
  PD_TRY(unpack_one(context, s, -1, (int)pd_type_bytes(s->type), &s->values));
  pd_room_destroy(context, &s->room);
  return POLYAD_OK;
}

polyad_tensor pd_twotree_nonzeros(const struct pd_twotree_sorted *s, uint64_t tuples) {
  polyad_tensor nonzeros = {
      .context = s->context, .order = 1 + s->modes->others, .nnz = s->nnz, .type = s->type};
  nonzeros.dims[0] = tuples;
  nonzeros.index[0] = s->number;
  nonzeros.values = s->values;
  nonzeros.index_bytes[0] = s->bytes;
  for (int k = 0; k < s->modes->others; ++k) {
    nonzeros.dims[1 + k] = s->dims[s->modes->other[k]];
    nonzeros.index[1 + k] = s->index[k];
    nonzeros.index_bytes[1 + k] = pd_index_bytes(s->dims[s->modes->other[k]]);
  }
  return nonzeros;
}

/* The tuple that nonzero p belongs to. */
static uint64_t tuple_of(const struct pd_twotree_sorted *s, uint64_t p) {
  uint64_t low = 0, high = s->tuples;
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    if (pd_twotree_number_at(s->start, s->start_bytes, middle) <= p)
      low = middle;
    else
      high = middle;
  }
  return low;
}

void pd_twotree_fetch(const void *user, uint64_t first, uint64_t count, uint32_t modes,
                      struct pd_block *block) {
  const struct pd_twotree_sorted *s = user;
  const uint64_t *records = s->room.records + first * (uint64_t)s->layout.words;
  if ((modes & 1) != 0) {
    uint64_t tuple = tuple_of(s, first), end = 0;
    for (uint64_t p = 0; p < count; p = end, ++tuple) {
      end = pd_twotree_number_at(s->start, s->start_bytes, tuple + 1) - first;
      if (end > count) end = count;
      for (uint64_t q = p; q < end; ++q)
        put_number(block->room[0], s->bytes, q, tuple);
    }
    block->index[0] = block->room[0];
  }
  for (int k = 0; k < s->modes->others; ++k) {
    int n = s->modes->other[k];
    if ((modes >> (1 + k) & 1) == 0) continue;
    pd_records_index(&s->layout, count, records, n, pd_index_bytes(s->dims[n]), block->room[1 + k]);
    block->index[1 + k] = block->room[1 + k];
  }
  if ((modes >> POLYAD_MAX_ORDER & 1) == 0) return;
  pd_records_values(&s->layout, count, records, block->room[POLYAD_MAX_ORDER]);
  block->values = block->room[POLYAD_MAX_ORDER];
}

polyad_status pd_twotree_fetched(polyad_context *context, void *user) {
  struct pd_twotree_sorted *s = user;
  PD_FREE(context, s->room.records, s->start);
  s->room.records = NULL;
  s->start = NULL;
  return POLYAD_OK;
}

polyad_status pd_twotree_tuples_make(polyad_context *context, const polyad_tensor *tensor,
                                     const struct pd_twotree_side *side, polyad_tensor *tuples) {
  int bytes = pd_twotree_number_bytes(side->tuples);
  *tuples = (polyad_tensor){.context = context,
                            .order = 1 + side->modes.count,
                            .nnz = side->tuples,
                            .type = tensor->type};
  for (int k = 0; k <= side->modes.count; ++k) {
    tuples->dims[k] = k == 0 ? side->tuples : tensor->dims[side->modes.mode[k - 1]];
    tuples->index[k] = k == 0 ? NULL : side->tuple_id[k - 1];
    tuples->index_bytes[k] = k == 0 ? bytes : side->id_bytes[k - 1];
  }
  PD_TRY(pd_alloc(context, side->tuples, (size_t)bytes, &tuples->index[0]));
  PD_TRY(pd_alloc(context, side->tuples, pd_type_bytes(tensor->type), &tuples->values));
  int threads = pd_threads_for(context, side->tuples, THREAD_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t t = 0; t < side->tuples; ++t) {
    put_number(tuples->index[0], bytes, t, t);
    if (tensor->type == POLYAD_F32)
      ((float *)tuples->values)[t] = 1;
    else
      ((double *)tuples->values)[t] = 1;
  }
  return POLYAD_OK;
}

void pd_twotree_tuples_clear(polyad_context *context, polyad_tensor *tuples) {
  PD_FREE(context, tuples->index[0], tuples->values);
}

/* Tuples ascend: none is there twice. */
polyad_status pd_twotree_tuples_check(polyad_context *context, const struct pd_twotree *twotree,
                                      const struct pd_twotree_side *side) {
  for (uint64_t t = 0; t < side->tuples; ++t) {
    int order = t == 0 ? 1 : 0;
    for (int k = 0; k < side->modes.count; ++k) {
      uint64_t here = pd_twotree_tuple_index(side, k, t);
      if (here >= twotree->dims[side->modes.mode[k]])
        return pd_fail(context, POLYAD_INTERNAL, "tuple %llu: index too large",
                       (unsigned long long)t);
      uint64_t before = t == 0 ? 0 : pd_twotree_tuple_index(side, k, t - 1);
      if (order == 0 && here != before) order = here > before ? 1 : -1;
    }
    if (order != 1)
      return pd_fail(context, POLYAD_INTERNAL, "tuple %llu is not above the one before",
                     (unsigned long long)t);
  }
  return POLYAD_OK;
}

uint64_t pd_twotree_sorted_bytes(const struct pd_traits *traits, polyad_type type) {
  uint64_t each = pd_type_bytes(type) + 2 * (uint64_t)pd_twotree_number_bytes(traits->nnz);
  for (int n = 0; n < traits->order; ++n)
    each += (uint64_t)pd_index_bytes(traits->dims[n]);
  return pd_mul_saturated(traits->nnz + 1, each);
}
