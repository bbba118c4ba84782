/* The order of one mode on a device that builds it: its inputs, and room for its tables. */
#include "formats/ordered/ordered.h"
#include "formats/sent.h"

polyad_status pd_ordered_inputs_there(polyad_context *context, struct pd_build *build,
                                      const struct pd_request *request, int mode, bool moves,
                                      struct pd_ordered *order) {
  struct pd_build_classes classes;
  struct pd_ordered_sizes sizes = {.rows = {0}};
  if (pd_ordered_weighs_inputs(request->traits->order)) {
    PD_TRY(request->device->functions->build->classes(context, build, mode, &classes));
    for (int c = 0; c < PD_BUILD_CLASSES; ++c) {
      sizes.rows[c] = (double)classes.rows[c];
      sizes.nonzeros[c] = (double)classes.nonzeros[c];
    }
  }
  const struct pd_ordered_job job = {.traits = request->traits,
                                     .rank = request->rank,
                                     .kernel = request->kernel,
                                     .mode = mode,
                                     .moves = moves};
  pd_ordered_choose_inputs(&job, request->precision, &sizes, order);
  return POLYAD_OK;
}

polyad_status pd_ordered_tables_there(polyad_context *context, const struct pd_request *request,
                                      int mode, bool ends, struct pd_ordered *order,
                                      struct pd_build_tables *tables) {
  uint64_t nnz = request->traits->nnz, dim = request->traits->dims[mode];
  uint64_t rows = order->rows = request->traits->nonempty[mode];
  PD_TRY(pd_sent_allocate(context, request, rows + 1, 8, &order->row_start));
  PD_TRY(pd_sent_allocate(context, request, pd_ordered_chunks(nnz) + 1, 4, &order->chunk_row));
  if (ends)
    PD_TRY(pd_sent_allocate(context, request, nnz / PD_ORDERED_MARKS + 1, 4, &order->ends));
  else
    PD_TRY(pd_sent_allocate(context, request, pd_ordered_mark_words(nnz), 8, &order->marks));
  if (order->has_row_id) PD_TRY(pd_sent_allocate(context, request, rows, 4, &order->row_id));
  if (rows < dim) PD_TRY(pd_sent_allocate(context, request, dim / 32 + 1, 4, &order->used));
  *tables = (struct pd_build_tables){.rows = rows,
                                     .row_start = order->row_start,
                                     .row_id = order->row_id,
                                     .chunk_row = order->chunk_row,
                                     .marks = (uint32_t *)(void *)order->marks,
                                     .ends = order->ends,
                                     .used = order->used};
  return POLYAD_OK;
}
