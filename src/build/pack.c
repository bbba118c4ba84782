/* A record is made column by column: each piece of an index is moved to its bits in one word of all
 * records of a block, and then the values are. Blocks are small enough to stay in the nearest cache
 * from one piece to the next. */
#include "build/pack.h"
#include "build/pack_block.h"
#include "core/isa.h"
#include <string.h>

extern const struct pd_pack_functions pd_pack_functions_plain, pd_pack_functions_avx2,
    pd_pack_functions_avx512;
static const struct pd_pack_functions *const pack_functions[] = PD_FOR_EACH_ISA(&pd_pack_functions);

/* Finds the arrays of nonzeros [first, first + count) in the wanted modes. */
static void find_block(const struct pd_record_source *source, uint64_t first, uint64_t count,
                       uint32_t modes, struct pd_block *block) {
  const polyad_tensor *tensor = source->tensor;
  if (source->fetch != NULL) {
    source->fetch(source->user, first, count, modes, block);
    return;
  }
  for (int n = 0; n < tensor->order; ++n)
    block->index[n] = (const char *)tensor->index[n] + first * (uint64_t)tensor->index_bytes[n];
  block->values = (const char *)tensor->values + first * pd_type_bytes(tensor->type);
}

const struct pd_pack_functions *pd_pack_block_functions(void) {
  return pack_functions[pd_isa_current()];
}

static void add_piece(const struct pd_piece *piece, const polyad_tensor *tensor,
                      const struct pd_block *block, uint64_t count, uint64_t *word) {
  pd_pack_block_functions()->add_piece(piece, tensor->index_bytes[piece->mode],
                                       block->index[piece->mode], count, word);
}

static void add_values(const struct pd_record_source *source, const struct pd_layout *layout,
                       const struct pd_block *block, uint64_t first, uint64_t count,
                       uint64_t *restrict word) {
  if (source->places)
    for (uint64_t p = 0; p < count; ++p)
      word[p] |= first + p;
  else if (layout->value_bits < 8 * layout->value_bytes)
    pd_pack_block_functions()->add_counts(source->tensor->type, block->values, count, word);
  else if (layout->value_bits == 64)
    memcpy(word, block->values, count * sizeof *word);
  else
    for (uint64_t p = 0; p < count; ++p)
      word[p] |= ((const uint32_t *)block->values)[p];
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
  struct pd_block block;
  find_block(source, first, count, UINT32_MAX, &block);
  for (int w = 0; w < layout->words; ++w)
    memset(packed->word[w], 0, count * sizeof packed->word[w][0]);
  for (int k = 0; k < layout->pieces; ++k)
    add_piece(&layout->piece[k], source->tensor, &block, count,
              packed->word[layout->piece[k].word]);
  if (source->encode != NULL) pack_encode(source, first, count, packed);
  if (layout->value_bits > 0)
    add_values(source, layout, &block, first, count, packed->word[layout->words - 1]);
}

void pd_pack_head(const struct pd_record_source *source, const struct pd_layout *layout, int bits,
                  uint64_t first, uint64_t count, struct pd_packed *packed) {
  struct pd_block block;
  uint32_t modes = 0;
  int pieces = 0;
  for (int left = bits; pieces < layout->pieces && left > 0; left -= layout->piece[pieces++].bits)
    modes |= UINT32_C(1) << layout->piece[pieces].mode;
  memset(packed->word[0], 0, count * sizeof packed->word[0][0]);
  if (pieces > 0) find_block(source, first, count, modes, &block);
  for (int k = 0; k < pieces; ++k)
    add_piece(&layout->piece[k], source->tensor, &block, count, packed->word[0]);
  if (source->encode == NULL) return;
  for (int w = 1; w < layout->words; ++w)
    memset(packed->word[w], 0, count * sizeof packed->word[w][0]);
  pack_encode(source, first, count, packed);
}
