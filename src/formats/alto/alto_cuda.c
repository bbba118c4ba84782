/* MTTKRP and Phi of "alto" on a GPU: uploading, lists of each row's nonzeros, launching. */
#include "formats/alto/alto_cuda.h"
#include "device/cuda/cuda_sum.h"
#include "formats/alto/alto_launch.h"
#include "formats/alto/alto_layout.h"
#include "formats/alto/alto_ttmc_cuda.h"
#include "formats/ordered/ordered_launch.h"

/* The nonzeros of each output row of a mode, on the device. */
struct device_rows {
  uint64_t rows;
  uint32_t *order, *row_id, *chunk_row;
  uint64_t *row_start;
};

struct on_device {
  const struct pd_alto *host;
  void *low, *high, *values;
  uint32_t *index[POLYAD_MAX_ORDER]; /* variants coo */
  struct device_rows list[POLYAD_MAX_ORDER];
  uint32_t run[PD_ALTO_GPU_RUNS_MAX];
  int first[POLYAD_MAX_ORDER + 1]; /* run of each mode */
};

struct scratch {
  const struct pd_device *device;
  int segment;
  void *head, *tail, *weights;
  double *partial; /* of the sum of gains */
};

static void alto_cuda_unload(polyad_context *context, const struct pd_device *device,
                             void *pointer) {
  struct on_device *made = pointer;
  if (made == NULL) return;
  pd_cuda_release(context, device, made->low);
  pd_cuda_release(context, device, made->high);
  pd_cuda_release(context, device, made->values);
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n) {
    pd_cuda_release(context, device, made->index[n]);
    pd_cuda_release(context, device, made->list[n].order);
    pd_cuda_release(context, device, made->list[n].row_id);
    pd_cuda_release(context, device, made->list[n].chunk_row);
    pd_cuda_release(context, device, made->list[n].row_start);
  }
  pd_cuda_services->free(context, made);
}

/* ---- lists of rows -----------------------------------------------------------------------------
 */

/* The same on the host, while it is made. */
struct host_rows {
  uint64_t rows;
  uint32_t *index; /* of each nonzero */
  uint32_t *place; /* of each row's next nonzero */
  uint32_t *order, *row_id, *chunk_row;
  uint64_t *row_start;
};

static void free_rows(polyad_context *context, struct host_rows *list) {
  pd_cuda_services->free(context, list->index);
  pd_cuda_services->free(context, list->place);
  pd_cuda_services->free(context, list->order);
  pd_cuda_services->free(context, list->row_id);
  pd_cuda_services->free(context, list->chunk_row);
  pd_cuda_services->free(context, list->row_start);
}

static polyad_status new_array(polyad_context *context, uint64_t count, size_t size, void *out) {
  return pd_cuda_services->alloc(context, count, size, (void **)out);
}

static uint32_t alto_cuda_index_of(const struct pd_alto *host, int mode, uint64_t p) {
  if (host->decoded) return (uint32_t)pd_alto_number(host->index[mode], host->index_bytes[mode], p);
  return (uint32_t)pd_alto_extract(&host->field[mode], pd_alto_words_at(host, p));
}

/* Counts each row's nonzeros and lists the rows that have any; nonzeros stay in the order of their
 * keys within a row. */
static polyad_status alto_cuda_list_rows(polyad_context *context, const struct pd_alto *host,
                                         int mode, struct host_rows *list) {
  uint64_t nnz = host->nnz, dim = host->dims[mode];
  PD_TRY(new_array(context, nnz, sizeof *list->index, &list->index));
  PD_TRY(new_array(context, dim, sizeof *list->place, &list->place));
  memset(list->place, 0, dim * sizeof *list->place);
  for (uint64_t p = 0; p < nnz; ++p) {
    list->index[p] = alto_cuda_index_of(host, mode, p);
    list->rows += list->place[list->index[p]]++ == 0;
  }
  PD_TRY(new_array(context, nnz, sizeof *list->order, &list->order));
  PD_TRY(new_array(context, list->rows, sizeof *list->row_id, &list->row_id));
  PD_TRY(new_array(context, list->rows + 1, sizeof *list->row_start, &list->row_start));
  PD_TRY(new_array(context, nnz / 64 + 1, sizeof *list->chunk_row, &list->chunk_row));
  uint64_t row = 0, start = 0;
  for (uint64_t i = 0; i < dim; ++i) {
    uint32_t count = list->place[i];
    if (count == 0) continue;
    list->row_id[row] = (uint32_t)i;
    list->row_start[row++] = start;
    list->place[i] = (uint32_t)start;
    start += count;
  }
  list->row_start[row] = start;
  for (uint64_t p = 0; p < nnz; ++p)
    list->order[list->place[list->index[p]]++] = (uint32_t)p;
  list->chunk_row[0] = 0;
  for (uint64_t c = 0, r = 0; 64 * c < nnz; ++c) {
    while (list->row_start[r + 1] <= 64 * c)
      ++r;
    list->chunk_row[c] = (uint32_t)r;
  }
  return POLYAD_OK;
}

static polyad_status upload_rows(polyad_context *context, const struct pd_device *device,
                                 const struct pd_alto *host, int mode, struct device_rows *to) {
  polyad_status status = POLYAD_OK;
  struct host_rows list = {0};
  PD_TRY_CLEANUP(alto_cuda_list_rows(context, host, mode, &list));
  to->rows = list.rows;
  PD_TRY_CLEANUP(pd_cuda_upload(context, device, host->nnz, sizeof *list.order, list.order,
                                (void **)&to->order));
  PD_TRY_CLEANUP(pd_cuda_upload(context, device, list.rows, sizeof *list.row_id, list.row_id,
                                (void **)&to->row_id));
  PD_TRY_CLEANUP(pd_cuda_upload(context, device, list.rows + 1, sizeof *list.row_start,
                                list.row_start, (void **)&to->row_start));
  PD_TRY_CLEANUP(pd_cuda_upload(context, device, host->nnz / 64 + 1, sizeof *list.chunk_row,
                                list.chunk_row, (void **)&to->chunk_row));
cleanup:
  free_rows(context, &list);
  return status;
}

/* ---- keys and values ---------------------------------------------------------------------------
 */

static void set_runs(const struct pd_alto *host, struct on_device *made) {
  int count = 0;
  for (int n = 0; n < host->order; ++n) {
    made->first[n] = count;
    for (int r = 0; r < host->field[n].runs && !host->decoded; ++r) {
      const struct pd_alto_run *run = &host->field[n].run[r];
      made->run[count++] = PD_ALTO_GPU_RUN(run->word, run->from, run->to, run->bits);
    }
  }
  made->first[host->order] = count;
}

static polyad_status upload_indices(polyad_context *context, const struct pd_device *device,
                                    const struct pd_alto *host, int mode, uint32_t **to) {
  uint32_t *index;
  PD_TRY(pd_cuda_services->alloc(context, host->nnz, sizeof *index, (void **)&index));
  for (uint64_t p = 0; p < host->nnz; ++p)
    index[p] = alto_cuda_index_of(host, mode, p);
  polyad_status status =
      pd_cuda_upload(context, device, host->nnz, sizeof *index, index, (void **)to);
  pd_cuda_services->free(context, index);
  return status;
}

static polyad_status alto_cuda_upload_nonzeros(polyad_context *context,
                                               const struct pd_device *device,
                                               const struct pd_alto *host, struct on_device *made) {
  if (host->decoded) {
    for (int n = 0; n < host->order; ++n)
      PD_TRY(upload_indices(context, device, host, n, &made->index[n]));
  } else {
    PD_TRY(
        pd_cuda_upload(context, device, host->nnz, (size_t)host->low_bytes, host->low, &made->low));
    if (host->high_bytes > 0)
      PD_TRY(pd_cuda_upload(context, device, host->nnz, (size_t)host->high_bytes, host->high,
                            &made->high));
  }
  return pd_cuda_upload(context, device, host->nnz, pd_type_bytes(host->type), host->values,
                        &made->values);
}

static polyad_status alto_cuda_upload(polyad_context *context, const struct pd_device *device,
                                      const void *storage, void **out) {
  const struct pd_alto *host = storage;
  struct on_device *made;
  *out = NULL;
  PD_TRY(pd_cuda_services->alloc(context, 1, sizeof *made, (void **)&made));
  memset(made, 0, sizeof *made);
  made->host = host;
  set_runs(host, made);
  polyad_status status = alto_cuda_upload_nonzeros(context, device, host, made);
  for (int n = 0; n < host->order && status == POLYAD_OK && !host->atomic; ++n)
    status = upload_rows(context, device, host, n, &made->list[n]);
  if (status == POLYAD_OK)
    *out = made;
  else
    alto_cuda_unload(context, device, made);
  return status;
}

/* ---- scratch -----------------------------------------------------------------------------------
 */

/* Lanes depend on whether rows are aligned; scratch is made for the worse case. */
static uint64_t alto_cuda_carry_rows(const struct on_device *made, int segment) {
  return made->host->atomic ? 0 : pd_gpu_sum_blocks(made->host->nnz, 32, segment);
}

/* Whether Phi needs the weights by themselves. */
static bool weighs_first(const struct pd_alto *host, uint64_t rank) {
  return rank > (uint64_t)pd_alto_gpu_columns((int)pd_type_bytes(host->type));
}

static uint64_t alto_cuda_workspace_bytes(const void *storage, const uint64_t *ranks, int threads) {
  const uint64_t rank = ranks[0];
  (void)threads;
  const struct on_device *made = storage;
  uint64_t item = pd_type_bytes(made->host->type);
  uint64_t carries =
      pd_mul_saturated(2 * alto_cuda_carry_rows(made, 64), pd_mul_saturated(rank, item));
  carries = pd_add_saturated(carries, 8 * (pd_alto_gpu_partials(made->host->nnz) + 1));
  return weighs_first(made->host, rank) ? pd_add_saturated(carries, made->host->nnz * item)
                                        : carries;
}

static void alto_cuda_workspace_destroy(polyad_context *context, void *pointer) {
  struct scratch *scratch = pointer;
  if (scratch == NULL) return;
  pd_cuda_release(context, scratch->device, scratch->head);
  pd_cuda_release(context, scratch->device, scratch->tail);
  pd_cuda_release(context, scratch->device, scratch->weights);
  pd_cuda_release(context, scratch->device, scratch->partial);
  pd_cuda_services->free(context, scratch);
}

static polyad_status fill_scratch(polyad_context *context, const struct on_device *made,
                                  uint64_t rank, struct scratch *scratch) {
  size_t item = pd_type_bytes(made->host->type);
  int lanes = pd_gpu_lanes((int)rank, (int)item, 1);
  scratch->segment = pd_cuda_segment(pd_cuda_state_of(scratch->device), made->host->nnz, lanes);
  uint64_t numbers = alto_cuda_carry_rows(made, scratch->segment) * rank;
  PD_TRY(pd_cuda_allocate(context, scratch->device, numbers, item, &scratch->head));
  PD_TRY(pd_cuda_allocate(context, scratch->device, numbers, item, &scratch->tail));
  PD_TRY(pd_cuda_allocate(context, scratch->device, pd_alto_gpu_partials(made->host->nnz) + 1,
                          sizeof *scratch->partial, (void **)&scratch->partial));
  if (!weighs_first(made->host, rank)) return POLYAD_OK;
  return pd_cuda_allocate(context, scratch->device, made->host->nnz, item, &scratch->weights);
}

static polyad_status alto_cuda_workspace_create(polyad_context *context,
                                                const struct pd_device *device, const void *storage,
                                                const uint64_t *ranks, void **out) {
  const uint64_t rank = ranks[0];
  struct scratch *scratch;
  *out = NULL;
  if (rank > INT32_MAX / 16)
    return pd_cuda_services->fail(context, POLYAD_OVERFLOW, "rank %llu is too large",
                                  (unsigned long long)rank);
  PD_TRY(pd_cuda_services->alloc(context, 1, sizeof *scratch, (void **)&scratch));
  *scratch = (struct scratch){.device = device};
  polyad_status status = fill_scratch(context, storage, rank, scratch);
  if (status == POLYAD_OK)
    *out = scratch;
  else
    alto_cuda_workspace_destroy(context, scratch);
  return status;
}

/* ---- running -----------------------------------------------------------------------------------
 */

static struct pd_gpu_alto_mode mode_of(const struct on_device *made, int mode,
                                       const struct pd_matrix *factor) {
  struct pd_gpu_alto_mode to = {
      .first = made->first[mode], .last = made->first[mode + 1], .index = made->index[mode]};
  if (factor != NULL) {
    to.factor = factor->data;
    to.stride = factor->stride;
  }
  return to;
}

/* The arguments but for the output. */
static void set_arguments(const struct on_device *made, const struct scratch *scratch,
                          const struct pd_call *call, struct pd_gpu_alto *a) {
  const int mode = call->mode;
  const struct pd_alto *host = made->host;
  const struct device_rows *list = &made->list[mode];
  *a = (struct pd_gpu_alto){.nnz = host->nnz,
                            .low = made->low,
                            .high = made->high,
                            .low_bytes = host->low_bytes,
                            .high_bytes = host->high_bytes,
                            .values = made->values,
                            .rank = (int)pd_call_rank(call),
                            .segment = scratch->segment,
                            .order = list->order,
                            .row_start = list->row_start,
                            .row_id = list->row_id,
                            .chunk_row = list->chunk_row,
                            .rows = list->rows,
                            .head = scratch->head,
                            .tail = scratch->tail,
                            .out = call->out->data,
                            .out_stride = call->out->stride,
                            .least = call->op.loss.least,
                            .loss = call->op.loss.kind,
                            .weights = scratch->weights};
  memcpy(a->run, made->run, sizeof a->run);
  a->output = mode_of(made, mode, call->factors[mode]);
  for (int n = 0; n < host->order; ++n)
    if (n != mode) a->input[a->inputs++] = mode_of(made, n, call->factors[n]);
}

static polyad_status sum(polyad_context *context, struct pd_cuda_state *state,
                         const struct pd_gpu_alto *a, bool aligned, bool phi,
                         struct pd_matrix *out) {
  uint64_t bytes = out->rows * out->stride * pd_type_bytes(out->type);
  PD_TRY(PD_CUDA(context, state, cudaMemsetAsync(out->data, 0, bytes, pd_cuda_stream(state))));
  if (out->type == POLYAD_F32)
    return PD_CUDA(context, state, pd_alto_sum_f32(a, aligned, phi, pd_cuda_stream(state)));
  return PD_CUDA(context, state, pd_alto_sum_f64(a, aligned, phi, pd_cuda_stream(state)));
}

static bool all_aligned(const struct pd_alto *host, const struct pd_call *call) {
  bool aligned = pd_cuda_aligned(call->out);
  for (int n = 0; n < host->order; ++n)
    if (n != call->mode || pd_op_needs_model(&call->op))
      aligned = aligned && pd_cuda_aligned(call->factors[n]);
  return aligned;
}

/* Rows. Phi of a high rank is an MTTKRP of weights that are computed first. */
static polyad_status alto_cuda_run_rows(polyad_context *context, const struct on_device *made,
                                        struct pd_gpu_alto *a, const struct pd_call *call) {
  struct pd_matrix *out = call->out;
  struct pd_cuda_state *state = pd_cuda_state_of(out->device);
  bool aligned = all_aligned(made->host, call), phi = pd_op_needs_model(&call->op);
  if (!phi || !weighs_first(made->host, out->columns))
    return sum(context, state, a, aligned, phi, out);
  if (out->type == POLYAD_F32)
    PD_TRY(PD_CUDA(context, state, pd_alto_weigh_f32(a, pd_cuda_stream(state))));
  else
    PD_TRY(PD_CUDA(context, state, pd_alto_weigh_f64(a, pd_cuda_stream(state))));
  a->weighed = a->weights;
  return sum(context, state, a, aligned, false, out);
}

static polyad_status alto_cuda_run(polyad_context *context, const void *storage, void *workspace,
                                   const struct pd_call *call) {
  const struct on_device *made = storage;
  const struct scratch *scratch = workspace;
  struct pd_cuda_state *state = pd_cuda_state_of(scratch->device);
  struct pd_gpu_alto a;
  PD_TRY(pd_cuda_enter(context, state));
  set_arguments(made, scratch, call, &a);
  if (call->op.into == PD_INTO_ROWS) return alto_cuda_run_rows(context, made, &a, call);
  if (made->host->type == POLYAD_F32)
    return PD_CUDA(
        context, state,
        pd_alto_logarithms_f32(&a, scratch->partial, call->out->data, pd_cuda_stream(state)));
  return PD_CUDA(
      context, state,
      pd_alto_logarithms_f64(&a, scratch->partial, call->out->data, pd_cuda_stream(state)));
}

void pd_alto_view_device(const void *on_device, struct pd_alto_device_view *view) {
  const struct on_device *made = on_device;
  *view = (struct pd_alto_device_view){.host = made->host, .values = made->values};
  for (int n = 0; n < made->host->order; ++n)
    view->order[n] = made->list[n].order;
}

static const struct pd_walk alto_cuda_lists = {
    .ops = PD_OPS_MTTKRP | PD_OPS_GRADIENT | PD_OPS_GAIN,
    .workspace_bytes = alto_cuda_workspace_bytes,
    .workspace_create = alto_cuda_workspace_create,
    .workspace_destroy = alto_cuda_workspace_destroy,
    .run = alto_cuda_run,
};

const struct polyad_kernels pd_alto_kernels_cuda = {
    .format = "alto",
    .device = "cuda",
    .upload = alto_cuda_upload,
    .unload = alto_cuda_unload,
    .walks = {&alto_cuda_lists, &pd_alto_ttmc_walk_cuda},
};
