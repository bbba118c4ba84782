/* What must hold of a storage, and decoding it. */
#include "core/numbers.h"
#include "formats/alto/alto_build.h"
#include "formats/alto/alto_code.h"

enum { BLOCK = 1024 };

/* Whether words have bits that belong to no mode. */
static bool beyond(const struct pd_alto *alto, struct pd_alto_key words) {
  uint64_t used[2] = {0, 0};
  for (int n = 0; n < alto->order; ++n) {
    used[0] |= alto->field[n].mask[0];
    used[1] |= alto->field[n].mask[1];
  }
  return (words.word[0] & ~used[0]) != 0 || (words.word[1] & ~used[1]) != 0;
}

static struct pd_alto_key alto_check_key_of(const struct pd_alto *alto, uint64_t p) {
  struct pd_alto_key key = {{0, 0}}, words = {{0, 0}};
  if (!alto->decoded) words = pd_alto_words_at(alto, p);
  for (int n = 0; n < alto->order; ++n)
    pd_alto_deposit(&alto->mode[n],
                    alto->decoded ? pd_alto_number(alto->index[n], alto->index_bytes[n], p)
                                  : pd_alto_extract(&alto->field[n], words),
                    &key);
  return key;
}

/* Keys rise strictly, words have no bits that belong to no mode. */
static polyad_status check_keys(polyad_context *context, const struct pd_alto *alto) {
  struct pd_alto_key before = {{0, 0}};
  for (uint64_t p = 0; p < alto->nnz; ++p) {
    struct pd_alto_key key = alto_check_key_of(alto, p);
    bool rises = key.word[1] > before.word[1] ||
                 (key.word[1] == before.word[1] && key.word[0] > before.word[0]);
    if ((p > 0 && !rises) || (!alto->decoded && beyond(alto, pd_alto_words_at(alto, p))))
      return pd_fail(context, POLYAD_INTERNAL, "alto: key %llu is out of order",
                     (unsigned long long)p);
    before = key;
  }
  return POLYAD_OK;
}

static polyad_status check_indices(polyad_context *context, const struct pd_alto *alto, int mode) {
  pd_alto_decode_function *decode = pd_alto_decoder(alto);
  uint64_t index[BLOCK];
  for (uint64_t first = 0, count; first < alto->nnz; first += count) {
    count = alto->nnz - first < BLOCK ? alto->nnz - first : BLOCK;
    decode(alto, mode, first, count, index);
    for (uint64_t p = 0; p < count; ++p)
      if (index[p] >= alto->dims[mode])
        return pd_fail(context, POLYAD_INTERNAL, "alto: nonzero %llu has index %llu in mode %d",
                       (unsigned long long)(first + p), (unsigned long long)index[p],
                       pd_shown_mode(context, mode));
  }
  return POLYAD_OK;
}

polyad_status pd_alto_check(polyad_context *context, const void *storage) {
  const struct pd_alto *alto = storage;
  for (int n = 0; n < alto->order; ++n)
    PD_TRY(check_indices(context, alto, n));
  PD_TRY(check_keys(context, alto));
  for (int n = 0; n < alto->order && alto->lists; ++n)
    PD_TRY(pd_alto_check_rows(context, alto, n));
  for (int s = 0; s < alto->segments; ++s)
    for (int n = 0; n < alto->order; ++n) {
      struct pd_alto_span real = pd_alto_measure(alto, s, n);
      struct pd_alto_span noted = alto->span[s * alto->order + n];
      if (noted.begin != real.begin || noted.end != real.end)
        return pd_fail(context, POLYAD_INTERNAL, "alto: the span of segment %d in mode %d is wrong",
                       s, pd_shown_mode(context, n));
    }
  return POLYAD_OK;
}

void pd_alto_decode(const void *storage, uint64_t first, int count, struct pd_chunk *chunk) {
  const struct pd_alto *alto = storage;
  pd_alto_decode_function *decode = pd_alto_decoder(alto);
  for (int n = 0; n < alto->order; ++n)
    decode(alto, n, first, (uint64_t)count, chunk->index[n]);
  for (int k = 0; k < count; ++k)
    chunk->value[k] = pd_load(alto->type, alto->values, first + (uint64_t)k);
}
