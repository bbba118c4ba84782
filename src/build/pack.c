#include "build/pack.h"
#include <string.h>

/* One piece of all records of a block: loops without branches, which vectorise. */
static void add_piece(const struct pd_piece *piece, const polyad_tensor *tensor, uint64_t first,
                      uint64_t count, uint64_t *restrict word) {
  const int low = piece->low, shift = piece->shift;
  const uint64_t mask = pd_low_mask(piece->bits);
  if (tensor->index_bytes[piece->mode] == 4) {
    const uint32_t *index = (const uint32_t *)tensor->index[piece->mode] + first;
    for (uint64_t p = 0; p < count; ++p)
      word[p] |= ((uint64_t)index[p] >> low & mask) << shift;
  } else {
    const uint64_t *index = (const uint64_t *)tensor->index[piece->mode] + first;
    for (uint64_t p = 0; p < count; ++p)
      word[p] |= (index[p] >> low & mask) << shift;
  }
}

/* Values that are whole numbers. */
static void add_counts(const polyad_tensor *tensor, uint64_t first, uint64_t count,
                       uint64_t *restrict word) {
  const double *wide = (const double *)tensor->values + first;
  const float *narrow = (const float *)tensor->values + first;
  if (tensor->type == POLYAD_F64)
    for (uint64_t p = 0; p < count; ++p)
      word[p] |= (uint64_t)(uint32_t)(int32_t)wide[p];
  else
    for (uint64_t p = 0; p < count; ++p)
      word[p] |= (uint64_t)(uint32_t)(int32_t)narrow[p];
}

static void add_values(const struct pd_record_source *source, const struct pd_layout *layout,
                       uint64_t first, uint64_t count, uint64_t *restrict word) {
  const void *values = source->tensor->values;
  if (source->places)
    for (uint64_t p = 0; p < count; ++p)
      word[p] |= first + p;
  else if (layout->value_bits < 8 * layout->value_bytes)
    add_counts(source->tensor, first, count, word);
  else if (layout->value_bits == 64)
    memcpy(word, (const uint64_t *)values + first, count * sizeof *word);
  else
    for (uint64_t p = 0; p < count; ++p)
      word[p] |= ((const uint32_t *)values)[first + p];
}

static void pack_encode(const struct pd_record_source *source, uint64_t first, uint64_t count,
                        struct pd_packed *packed) {
  uint64_t *word[PD_RECORD_WORDS_MAX];
  for (int w = 0; w < PD_RECORD_WORDS_MAX; ++w)
    word[w] = packed->word[w];
  source->encode(source->user, first, count, word);
}

void pd_pack(const struct pd_record_source *source, const struct pd_layout *layout, uint64_t first,
             uint64_t count, struct pd_packed *packed) {
  for (int w = 0; w < layout->words; ++w)
    memset(packed->word[w], 0, count * sizeof packed->word[w][0]);
  for (int k = 0; k < layout->pieces; ++k)
    add_piece(&layout->piece[k], source->tensor, first, count, packed->word[layout->piece[k].word]);
  if (source->encode != NULL) pack_encode(source, first, count, packed);
  if (layout->value_bits > 0)
    add_values(source, layout, first, count, packed->word[layout->words - 1]);
}

void pd_pack_head(const struct pd_record_source *source, const struct pd_layout *layout, int bits,
                  uint64_t first, uint64_t count, struct pd_packed *packed) {
  memset(packed->word[0], 0, count * sizeof packed->word[0][0]);
  for (int k = 0; k < layout->pieces && bits > 0; bits -= layout->piece[k++].bits)
    add_piece(&layout->piece[k], source->tensor, first, count, packed->word[0]);
  if (source->encode == NULL) return;
  for (int w = 1; w < layout->words; ++w)
    memset(packed->word[w], 0, count * sizeof packed->word[w][0]);
  pack_encode(source, first, count, packed);
}
