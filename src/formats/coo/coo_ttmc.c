/* The tensor-times-matrix chain of "coo" on the CPU: each mode's list already has its rows in
 * order; the runs of a tiled list are put in order first. */
#include "formats/coo/coo.h"
#include "formats/coo/coo_layout.h"
#include "formats/rowsum/driver.h"
#include "formats/ttmc/ttmc_rows.h"

static struct pd_ttmc_shape coo_ttmc_shape_of(const struct pd_coo *coo) {
  return (struct pd_ttmc_shape){.order = coo->order, .nnz = coo->nnz, .type = coo->type};
}

static uint64_t coo_ttmc_bytes(const void *storage, const uint64_t *ranks, int threads) {
  const struct pd_coo *coo = storage;
  struct pd_ttmc_shape shape = coo_ttmc_shape_of(coo);
  uint64_t bytes = pd_ttmc_work_bytes(&shape, ranks, threads);
  for (int n = 0; n < coo->order; ++n)
    if (coo->list[n].blocks > 0)
      bytes = pd_add_saturated(bytes, pd_ttmc_order_bytes(coo->list[n].runs, false));
  return bytes;
}

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

static polyad_status coo_ttmc_create(polyad_context *context, const struct pd_device *device,
                                     const void *storage, const uint64_t *ranks, void **scratch) {
  (void)device;
  const struct pd_coo *coo = storage;
  struct pd_ttmc_shape shape = coo_ttmc_shape_of(coo);
  return pd_ttmc_work_create(context, &shape, ranks, storage, pd_coo_row_source, scratch);
}

const struct pd_walk pd_coo_ttmc_walk = PD_TTMC_WALK(coo_ttmc);
