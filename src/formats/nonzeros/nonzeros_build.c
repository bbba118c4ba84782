/* Sorting and gathering nonzeros into the lists of formats; checks; the way back to a tensor. */
#include "core/numbers.h"
#include "core/radix_sort.h"
#include "formats/nonzeros/nonzeros.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { GRAIN = 1 << 14, WORD_BLOCK = 64 };

void pd_nz_init(struct pd_nz *head, const struct pd_nz_ops *ops, const polyad_tensor *tensor) {
  *head =
      (struct pd_nz){.ops = ops, .order = tensor->order, .nnz = tensor->nnz, .type = tensor->type};
  memcpy(head->dims, tensor->dims, sizeof head->dims);
}

bool pd_nz_supports(const struct pd_traits *traits, const struct pd_request *request,
                    char reason[PD_REASON_BYTES]) {
  const uint64_t most = UINT32_MAX - 8; /* kernels take several at a time and count in 32 bits */
  return pd_supports_32_bits(traits, request, most, reason);
}

/* ---- sorting -------------------------------------------------------------------------------- */

void pd_nz_curve_init(struct pd_nz_curve *curve, int order, const uint64_t *dims, int least) {
  int by_length[POLYAD_MAX_ORDER];
  for (int n = 0; n < order; ++n) {
    int at = n;
    for (; at > 0 && dims[by_length[at - 1]] > dims[n]; --at)
      by_length[at] = by_length[at - 1];
    by_length[at] = n;
  }
  curve->bits = 0;
  for (int bit = least; bit < 64; ++bit)
    for (int k = 0; k < order; ++k) {
      int mode = by_length[k];
      if (bit >= pd_index_bits(dims[mode])) continue;
      curve->place[curve->bits].mode = (uint8_t)mode;
      curve->place[curve->bits++].bit = (uint8_t)bit;
    }
  curve->words = curve->bits == 0 ? 1 : (curve->bits + 63) / 64;
}

uint64_t pd_nz_sorting_bytes(uint64_t nnz, int words) {
  /* The words, the sort's packed keys and their copy, the permutation and its copy. */
  return pd_mul_saturated(nnz, 8 * (uint64_t)words + 2 * 12 + 4);
}

uint64_t pd_nz_sorted_bytes(const struct pd_traits *traits, const struct pd_request *request) {
  return pd_add_saturated(traits->nnz, pd_sorted_bytes(traits->order, traits->dims, traits->nnz,
                                                       request->precision, request->threads));
}

/* The bits of word w of nonzeros [first, first + count), one bit of all of them after the other. */
static void fill_block(const struct pd_nz_curve *curve, int w, uint64_t count,
                       uint64_t index[POLYAD_MAX_ORDER][WORD_BLOCK], uint64_t *restrict word) {
  int begin = 64 * (curve->words - 1 - w);
  int end = begin + 64 < curve->bits ? begin + 64 : curve->bits;
  memset(word, 0, count * sizeof *word);
  for (int k = begin; k < end; ++k) {
    const uint64_t *from = index[curve->place[k].mode];
    int bit = curve->place[k].bit;
    for (uint64_t p = 0; p < count; ++p)
      word[p] |= (from[p] >> bit & 1) << (k - begin);
  }
}

/* word[w][p]: bits of nonzero p on the curve, word 0 the highest. */
static void fill_words(const polyad_tensor *tensor, const struct pd_nz_curve *curve, int threads,
                       uint64_t *word) {
  uint64_t nnz = tensor->nnz;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t first = 0; first < nnz; first += WORD_BLOCK) {
    uint64_t index[POLYAD_MAX_ORDER][WORD_BLOCK];
    uint64_t count = nnz - first < WORD_BLOCK ? nnz - first : WORD_BLOCK;
    for (int n = 0; n < tensor->order; ++n)
      for (uint64_t p = 0; p < count; ++p)
        index[n][p] = pd_tensor_index(tensor, n, first + p);
    for (int w = 0; w < curve->words; ++w)
      fill_block(curve, w, count, index, word + (uint64_t)w * nnz + first);
  }
}

polyad_status pd_nz_sort_curve(polyad_context *context, const polyad_tensor *tensor,
                               const struct pd_nz_curve *curve, int inner, uint32_t *permutation) {
  uint64_t *word, nnz = tensor->nnz;
  struct pd_key keys[POLYAD_MAX_ORDER + 1];
  int count = 0;
  PD_TRY(pd_alloc(context, pd_mul_saturated(nnz, (uint64_t)curve->words), sizeof *word,
                  (void **)&word));
  fill_words(tensor, curve, pd_threads_for(context, nnz, GRAIN), word);
  for (int w = 0; w < curve->words; ++w) {
    int bits = w > 0 ? 64 : curve->bits - 64 * (curve->words - 1);
    if (w == curve->words - 1 && inner >= 0)
      keys[count++] = (struct pd_key){tensor->index[inner], 4, tensor->dims[inner]};
    keys[count++] =
        (struct pd_key){word + (uint64_t)w * nnz, 8, bits == 64 ? 0 : UINT64_C(1) << bits};
  }
  polyad_status status = pd_sort_permutation(context, nnz, count, keys, 4, permutation);
  pd_free(context, word);
  return status;
}

polyad_status pd_nz_sort_modes(polyad_context *context, const polyad_tensor *tensor,
                               const int *modes, uint32_t *permutation) {
  struct pd_key keys[POLYAD_MAX_ORDER];
  for (int l = 0; l < tensor->order; ++l)
    keys[l] = (struct pd_key){tensor->index[modes[l]], tensor->index_bytes[modes[l]],
                              tensor->dims[modes[l]]};
  return pd_sort_permutation(context, tensor->nnz, tensor->order, keys, 4, permutation);
}

polyad_status pd_nz_gather_values(polyad_context *context, const polyad_tensor *tensor,
                                  uint64_t count, const uint32_t *permutation, void **values) {
  size_t size = pd_type_bytes(tensor->type);
  PD_TRY(pd_alloc(context, count, size, values));
  if (permutation == NULL)
    memcpy(*values, tensor->values, count * size);
  else
    pd_gather(context, count, permutation, 4, tensor->values, size, *values);
  return POLYAD_OK;
}

polyad_status pd_nz_gather_index(polyad_context *context, const polyad_tensor *tensor, int mode,
                                 uint64_t count, const uint32_t *permutation, uint32_t **index) {
  PD_TRY(PD_NEW(context, count, index));
  pd_gather(context, count, permutation, 4, tensor->index[mode], 4, *index);
  return POLYAD_OK;
}

polyad_status pd_nz_pieces(polyad_context *context, uint64_t nnz, uint64_t unit,
                           const uint32_t *start, uint32_t pieces, uint32_t **piece) {
  uint64_t units = pd_nz_units(nnz, unit);
  uint32_t k = 0;
  PD_TRY(PD_NEW(context, units, piece));
  for (uint64_t c = 0; c + 1 < units; ++c) {
    while (start[k + 1] <= c * unit)
      ++k;
    (*piece)[c] = k;
  }
  (*piece)[units - 1] = pieces > 0 ? pieces - 1 : 0;
  return POLYAD_OK;
}

uint64_t pd_nz_piece_of(const uint32_t *start, uint64_t pieces, uint64_t p) {
  return pd_id_find(start, 4, 0, pieces, p);
}

/* ---- checking and decoding ----------------------------------------------------------------- */

polyad_status pd_nz_broken(polyad_context *context, const char *format, const char *what,
                           uint64_t place) {
  return pd_fail(context, POLYAD_INTERNAL, "%s: %s at %llu", format, what,
                 (unsigned long long)place);
}

static polyad_status check_block(polyad_context *context, const struct pd_nz *head,
                                 const char *format, const struct pd_chunk *block, uint64_t first,
                                 int count) {
  for (int k = 0; k < count; ++k) {
    for (int n = 0; n < head->order; ++n)
      if (block->index[n][k] >= head->dims[n])
        return pd_nz_broken(context, format, "index too large", first + (uint64_t)k);
    if (!isfinite(block->value[k]))
      return pd_nz_broken(context, format, "bad value", first + (uint64_t)k);
  }
  return POLYAD_OK;
}

/* No row begins twice: a bit for each row that has begun. */
static polyad_status check_runs(polyad_context *context, const struct pd_chunk *block, int mode,
                                int count, uint64_t *row, uint8_t *begun, const char *format) {
  for (int k = 0; k < count; ++k) {
    uint64_t here = block->index[mode][k];
    if (here == *row) continue;
    if (begun[here / 8] & 1 << here % 8)
      return pd_nz_broken(context, format, "the nonzeros of a row are apart", here);
    begun[here / 8] = (uint8_t)(begun[here / 8] | 1 << here % 8);
    *row = here;
  }
  return POLYAD_OK;
}

polyad_status pd_nz_check(polyad_context *context, const struct pd_nz *head, const char *format) {
  struct pd_chunk block;
  for (int mode = 0; mode < head->order; ++mode) {
    const bool runs = head->ops->rows_together;
    uint8_t *begun = NULL;
    uint64_t row = UINT64_MAX;
    polyad_status status = POLYAD_OK;
    if (runs) PD_TRY(PD_NEW_ZERO(context, head->dims[mode] / 8 + 1, &begun));
    for (uint64_t p = 0; p < head->nnz && status == POLYAD_OK; p += PD_CHUNK) {
      int count = head->nnz - p < PD_CHUNK ? (int)(head->nnz - p) : PD_CHUNK;
      head->ops->decode(head, mode, p, count, &block);
      status = check_block(context, head, format, &block, p, count);
      if (runs && status == POLYAD_OK)
        status = check_runs(context, &block, mode, count, &row, begun, format);
    }
    pd_free(context, begun);
    PD_TRY(status);
  }
  return POLYAD_OK;
}

void pd_nz_decode(const void *storage, uint64_t first, int count, struct pd_chunk *chunk) {
  const struct pd_nz *head = storage;
  head->ops->decode(head, 0, first, count, chunk);
}
