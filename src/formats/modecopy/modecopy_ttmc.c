/* The tensor-times-matrix chain of "modecopy" on the CPU: the copies of the default variant have
 * their rows in order; those of the paper's variants are put in order first. */
#include "core/numbers.h"
#include "formats/modecopy/modecopy_layout.h"
#include "formats/tables.h"
#include "formats/ttmc/ttmc_rows.h"

static uint64_t modecopy_ttmc_row_of_nonzero(const void *storage, int mode, uint64_t p) {
  const struct pd_modecopy_copy *copy = &((const struct pd_modecopy *)storage)->copy[mode];
  return pd_modecopy_index(copy, copy->inputs, p);
}

static void modecopy_ttmc_decode(const struct pd_ttmc_source *source, uint64_t count,
                                 const uint64_t *place, struct pd_ttmc_block *block) {
  const struct pd_modecopy *host = source->storage;
  const struct pd_modecopy_copy *copy = &host->copy[source->mode];
  for (uint64_t p = 0; p < count; ++p) {
    block->value[p] = pd_load(source->type, copy->values, place[p]);
    if (host->variant == PD_MODECOPY_SORTED) {
      uint64_t row = block->hint[0] =
          pd_ttmc_find(copy->order.row_start, 8, copy->order.rows, block->hint[0], place[p]);
      block->row[p] = copy->order.row_id == NULL ? row : copy->order.row_id[row];
    } else {
      block->row[p] = pd_modecopy_index(copy, copy->inputs, place[p]);
    }
  }
  for (int g = 0; g < copy->inputs; ++g)
    for (uint64_t p = 0; p < count; ++p)
      block->index[g][p] = pd_modecopy_index(copy, g, place[p]);
}

void pd_modecopy_row_source(const void *storage, int mode, struct pd_ttmc_source *source,
                            struct pd_ttmc_segments *segments) {
  const struct pd_modecopy *host = storage;
  const struct pd_modecopy_copy *copy = &host->copy[mode];
  *source = (struct pd_ttmc_source){.storage = storage,
                                    .mode = mode,
                                    .type = host->type,
                                    .nnz = host->nnz,
                                    .columns = copy->inputs,
                                    .decode = modecopy_ttmc_decode};
  for (int g = 0; g < source->columns; ++g)
    source->column_mode[g] = copy->field[g].mode;
  *segments =
      (struct pd_ttmc_segments){.storage = storage,
                                .mode = mode,
                                .dim = host->dims[mode],
                                .count = host->variant == PD_MODECOPY_SORTED ? 0 : host->nnz,
                                .row = modecopy_ttmc_row_of_nonzero};
}

PD_TTMC_WALK(modecopy)
