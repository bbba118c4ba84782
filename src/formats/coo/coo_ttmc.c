/* The tensor-times-matrix chain of "coo" on the CPU: each mode's list already has its rows in
 * order; the runs of a tiled list are put in order first. */
#include "formats/coo/coo_layout.h"
#include "formats/rowsum/driver.h"
#include "formats/tables.h"
#include "formats/ttmc/ttmc_rows.h"

static uint64_t row_of_run(const void *storage, int mode, uint64_t run) {
  return pd_rowsum_row(&((const struct pd_coo *)storage)->list[mode], run);
}

static uint64_t start_of_run(const void *storage, int mode, uint64_t run) {
  return pd_rowsum_start(&((const struct pd_coo *)storage)->list[mode], run);
}

static void coo_ttmc_decode(const struct pd_ttmc_source *source, uint64_t count,
                            const uint64_t *place, struct pd_ttmc_block *block) {
  const struct pd_rowsum *list = &((const struct pd_coo *)source->storage)->list[source->mode];
  uint64_t run = block->hint[0];
  for (uint64_t p = 0; p < count; ++p) {
    run = pd_ttmc_find(list->row_start, list->start_bytes, list->runs, run, place[p]);
    block->row[p] = pd_rowsum_row(list, run);
    uint64_t at = pd_rowsum_place(list, place[p]);
    block->value[p] = source->type == POLYAD_F32 ? (double)((const float *)list->values)[at]
                                                 : ((const double *)list->values)[at];
  }
  block->hint[0] = run;
  for (int g = 0; g < list->columns; ++g)
    for (uint64_t p = 0; p < count; ++p)
      block->index[g][p] = pd_rowsum_id(list, g, place[p]);
}

void pd_coo_row_source(const void *storage, int mode, struct pd_ttmc_source *source,
                       struct pd_ttmc_segments *segments) {
  const struct pd_coo *coo = storage;
  const struct pd_rowsum *list = &coo->list[mode];
  *source = (struct pd_ttmc_source){.storage = storage,
                                    .mode = mode,
                                    .type = coo->type,
                                    .nnz = coo->nnz,
                                    .columns = list->columns,
                                    .decode = coo_ttmc_decode};
  for (int g = 0; g < source->columns; ++g)
    source->column_mode[g] = list->mode[g];
  *segments = (struct pd_ttmc_segments){.storage = storage,
                                        .mode = mode,
                                        .dim = coo->dims[mode],
                                        .count = list->blocks == 0 ? 0 : list->runs,
                                        .row = row_of_run,
                                        .start = start_of_run};
}

PD_TTMC_WALK(coo)
