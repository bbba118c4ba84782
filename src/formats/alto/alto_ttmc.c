/* The tensor-times-matrix chain of "alto" on the CPU: the nonzeros of each output row in the order
 * of their keys, so that neighbours still share most indices. */
#include "core/numbers.h"
#include "formats/alto/alto_layout.h"
#include "formats/tables.h"
#include "formats/ttmc/ttmc_rows.h"

static uint64_t alto_ttmc_index_at(const struct pd_alto *alto, int mode, uint64_t p) {
  if (alto->decoded) return pd_alto_number(alto->index[mode], alto->index_bytes[mode], p);
  return pd_alto_extract(&alto->field[mode], pd_alto_words_at(alto, p));
}

static uint64_t alto_ttmc_row_of_nonzero(const void *storage, int mode, uint64_t p) {
  return alto_ttmc_index_at(storage, mode, p);
}

static void alto_ttmc_decode(const struct pd_ttmc_source *source, uint64_t count,
                             const uint64_t *place, struct pd_ttmc_block *block) {
  const struct pd_alto *alto = source->storage;
  for (uint64_t p = 0; p < count; ++p) {
    block->row[p] = alto_ttmc_index_at(alto, source->mode, place[p]);
    block->value[p] = pd_load(source->type, alto->values, place[p]);
    for (int g = 0; g < source->columns; ++g)
      block->index[g][p] = alto_ttmc_index_at(alto, source->column_mode[g], place[p]);
  }
}

void pd_alto_row_source(const void *storage, int mode, struct pd_ttmc_source *source,
                        struct pd_ttmc_segments *segments) {
  const struct pd_alto *alto = storage;
  *source = (struct pd_ttmc_source){.storage = storage,
                                    .mode = mode,
                                    .type = alto->type,
                                    .nnz = alto->nnz,
                                    .decode = alto_ttmc_decode};
  for (int n = 0; n < alto->order; ++n)
    if (n != mode) source->column_mode[source->columns++] = n;
  *segments = (struct pd_ttmc_segments){.storage = storage,
                                        .mode = mode,
                                        .dim = alto->dims[mode],
                                        .count = alto->nnz,
                                        .row = alto_ttmc_row_of_nonzero};
}

PD_TTMC_WALK(alto)
