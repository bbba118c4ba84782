/* A side's tuples are found by sorting the nonzeros by the side's modes and numbering the distinct
 * ones. From them come two small tensors that a side is made of: the nonzeros with the number of
 * their tuple in place of the side's modes, and the tuples themselves. */
#include "formats/twotree/twotree_tuples.h"
#include "core/radix_sort.h"
#include "core/threads.h"

static void put_number(void *numbers, int bytes, uint64_t p, uint64_t number) {
  if (bytes == 4)
    ((uint32_t *)numbers)[p] = (uint32_t)number;
  else
    ((uint64_t *)numbers)[p] = number;
}

static bool begins_tuple(const struct pd_twotree_sorted *s, uint64_t p) {
  if (p == 0) return true;
  uint64_t here = pd_twotree_number_at(s->order, s->bytes, p),
           before = pd_twotree_number_at(s->order, s->bytes, p - 1);
  for (int k = 0; k < s->modes->count; ++k)
    if (pd_tensor_index(s->tensor, s->modes->mode[k], here) !=
        pd_tensor_index(s->tensor, s->modes->mode[k], before))
      return true;
  return false;
}

static polyad_status sort_tuples(polyad_context *context, struct pd_twotree_sorted *s) {
  struct pd_key keys[PD_TWOTREE_MAX_ORDER];
  const polyad_tensor *tensor = s->tensor;
  for (int k = 0; k < s->modes->count; ++k) {
    int n = s->modes->mode[k];
    keys[k] = (struct pd_key){tensor->index[n], tensor->index_bytes[n], tensor->dims[n]};
  }
  PD_TRY(pd_alloc(context, tensor->nnz, (size_t)s->bytes, &s->order));
  PD_TRY(pd_alloc(context, tensor->nnz, (size_t)s->bytes, &s->number));
  return pd_sort_permutation(context, tensor->nnz, s->modes->count, keys, s->bytes, s->order);
}

/* Numbers the tuples of one part of the sorted nonzeros, from `tuple` on; with `side` it keeps
 * their indices. Returns the number after the part's last tuple. */
static uint64_t number_part(const struct pd_twotree_sorted *s, uint64_t begin, uint64_t end,
                            uint64_t tuple, struct pd_twotree_side *side) {
  for (uint64_t p = begin; p < end; ++p) {
    bool begins = begins_tuple(s, p);
    uint64_t nonzero = pd_twotree_number_at(s->order, s->bytes, p);
    tuple += begins;
    if (side == NULL) continue;
    put_number(s->number, s->bytes, p, tuple - 1);
    for (int k = 0; k < s->modes->count && begins; ++k)
      put_number(side->tuple_id[k], side->id_bytes[k], tuple - 1,
                 pd_tensor_index(s->tensor, s->modes->mode[k], nonzero));
  }
  return tuple;
}

/* Parts are counted first, so that each knows where its tuples begin. */
static polyad_status number_tuples(polyad_context *context, struct pd_twotree_sorted *s,
                                   struct pd_twotree_side *side) {
  const uint64_t nnz = s->tensor->nnz;
  int threads = pd_threads_for(context, nnz, 1 << 14);
  uint64_t *before;
  polyad_status status = POLYAD_OK;
  PD_TRY(PD_NEW_ZERO(context, (uint64_t)threads + 1, &before));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    before[t + 1] =
        number_part(s, pd_part_begin(nnz, t, threads), pd_part_begin(nnz, t + 1, threads), 0, NULL);
  for (int t = 0; t < threads; ++t)
    before[t + 1] += before[t];
  side->tuples = before[threads];
  for (int k = 0; k < s->modes->count; ++k) {
    side->id_bytes[k] = s->tensor->index_bytes[s->modes->mode[k]];
    PD_TRY_CLEANUP(pd_alloc(context, side->tuples, (size_t)side->id_bytes[k], &side->tuple_id[k]));
  }
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    (void)number_part(s, pd_part_begin(nnz, t, threads), pd_part_begin(nnz, t + 1, threads),
                      before[t], side);
cleanup:
  pd_free(context, before);
  return status;
}

static polyad_status gather_one(polyad_context *context, const struct pd_twotree_sorted *s,
                                const void *from, size_t item, void **to) {
  PD_TRY(pd_alloc(context, s->tensor->nnz, item, to));
  pd_gather(context, s->tensor->nnz, s->order, s->bytes, from, item, *to);
  return POLYAD_OK;
}

/* The rest of the nonzeros in the order of their tuples. */
static polyad_status gather_rest(polyad_context *context, struct pd_twotree_sorted *s) {
  const polyad_tensor *tensor = s->tensor;
  for (int k = 0; k < s->modes->others; ++k) {
    int n = s->modes->other[k];
    PD_TRY(gather_one(context, s, tensor->index[n], (size_t)tensor->index_bytes[n], &s->index[k]));
  }
  return gather_one(context, s, tensor->values, pd_type_bytes(tensor->type), &s->values);
}

void pd_twotree_sorted_clear(polyad_context *context, struct pd_twotree_sorted *s) {
  pd_free(context, s->order);
  pd_free(context, s->number);
  pd_free(context, s->values);
  for (int k = 0; k < PD_TWOTREE_MAX_ORDER; ++k)
    pd_free(context, s->index[k]);
  *s = (struct pd_twotree_sorted){0};
}

polyad_status pd_twotree_sorted_make(polyad_context *context, const polyad_tensor *tensor,
                                     struct pd_twotree_side *side, struct pd_twotree_sorted *s) {
  *s = (struct pd_twotree_sorted){
      .tensor = tensor, .modes = &side->modes, .bytes = pd_twotree_number_bytes(tensor->nnz)};
  PD_TRY(sort_tuples(context, s));
  PD_TRY(number_tuples(context, s, side));
  PD_TRY(gather_rest(context, s));
  pd_free(context, s->order);
  s->order = NULL;
  return POLYAD_OK;
}

polyad_tensor pd_twotree_nonzeros(const struct pd_twotree_sorted *s, uint64_t tuples) {
  polyad_tensor nonzeros = {.context = s->tensor->context,
                            .order = 1 + s->modes->others,
                            .nnz = s->tensor->nnz,
                            .type = s->tensor->type};
  nonzeros.dims[0] = tuples;
  nonzeros.index[0] = s->number;
  nonzeros.values = s->values;
  nonzeros.index_bytes[0] = s->bytes;
  for (int k = 0; k < s->modes->others; ++k) {
    nonzeros.dims[1 + k] = s->tensor->dims[s->modes->other[k]];
    nonzeros.index[1 + k] = s->index[k];
    nonzeros.index_bytes[1 + k] = s->tensor->index_bytes[s->modes->other[k]];
  }
  return nonzeros;
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
  pd_free(context, tuples->index[0]);
  pd_free(context, tuples->values);
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
  return pd_mul_saturated(traits->nnz, each);
}
