/* The tensor-times-matrix chain of "alto" on the CPU: the nonzeros of each output row in the order
 * of their other indices, those of short modes first. In the order of the keys neighbours seldom
 * share their first index, and each would then be multiplied into the whole row. */
#include "core/numbers.h"
#include "formats/alto/alto_layout.h"
#include "formats/tables.h"
#include "formats/ttmc/ttmc_rows.h"
#include <string.h>

static uint64_t alto_ttmc_index_at(const struct pd_alto *alto, int mode, uint64_t p) {
  if (alto->decoded) return pd_alto_number(alto->index[mode], alto->index_bytes[mode], p);
  return pd_alto_extract(&alto->field[mode], pd_alto_words_at(alto, p));
}

static uint64_t alto_ttmc_row_of_nonzero(const void *storage, int mode, uint64_t p) {
  return alto_ttmc_index_at(storage, mode, p);
}

/* Index in `mode` of nonzeros whose words are given: one run of bits after the other, so that the
 * loops have no branches. */
static void alto_ttmc_extract(const struct pd_alto_mode *mode, uint64_t count,
                              uint64_t word[2][PD_TTMC_BLOCK], uint64_t *restrict index) {
  memset(index, 0, count * sizeof *index);
  for (int r = 0; r < mode->runs; ++r) {
    const uint64_t *from = word[mode->run[r].word], mask = pd_low_mask(mode->run[r].bits);
    const int down = mode->run[r].from, up = mode->run[r].to;
    for (uint64_t p = 0; p < count; ++p)
      index[p] |= (from[p] >> down & mask) << up;
  }
}

static void alto_ttmc_decode(const struct pd_ttmc_source *source, uint64_t count,
                             const uint64_t *place, struct pd_ttmc_block *block) {
  const struct pd_alto *alto = source->storage;
  uint64_t word[2][PD_TTMC_BLOCK];
  for (uint64_t p = 0; p < count; ++p)
    block->value[p] = pd_load(source->type, alto->values, place[p]);
  for (uint64_t p = 0; !alto->decoded && p < count; ++p) {
    struct pd_alto_key words = pd_alto_words_at(alto, place[p]);
    word[0][p] = words.word[0];
    word[1][p] = words.word[1];
  }
  for (int g = -1; g < source->columns; ++g) {
    int mode = g < 0 ? source->mode : source->column_mode[g];
    uint64_t *index = g < 0 ? block->row : block->index[g];
    if (!alto->decoded) alto_ttmc_extract(&alto->field[mode], count, word, index);
    for (uint64_t p = 0; alto->decoded && p < count; ++p)
      index[p] = pd_alto_number(alto->index[mode], alto->index_bytes[mode], place[p]);
  }
}

/* The modes but one, the shortest first. */
static int alto_ttmc_columns(const struct pd_alto *alto, int mode, int *column_mode) {
  int columns = 0;
  for (int n = 0; n < alto->order; ++n) {
    if (n == mode) continue;
    int g = columns++;
    for (; g > 0 && alto->dims[column_mode[g - 1]] > alto->dims[n]; --g)
      column_mode[g] = column_mode[g - 1];
    column_mode[g] = n;
  }
  return columns;
}

void pd_alto_row_source(const void *storage, int mode, struct pd_ttmc_source *source,
                        struct pd_ttmc_segments *segments) {
  const struct pd_alto *alto = storage;
  *source = (struct pd_ttmc_source){.storage = storage,
                                    .mode = mode,
                                    .type = alto->type,
                                    .nnz = alto->nnz,
                                    .decode = alto_ttmc_decode};
  source->columns = alto_ttmc_columns(alto, mode, source->column_mode);
  *segments = (struct pd_ttmc_segments){.storage = storage,
                                        .mode = mode,
                                        .dim = alto->dims[mode],
                                        .count = alto->nnz,
                                        .row = alto_ttmc_row_of_nonzero,
                                        .inner = source->columns,
                                        .dims = alto->dims};
  memcpy(segments->inner_mode, source->column_mode, sizeof segments->inner_mode);
}

PD_TTMC_WALK(alto)
