/* MTTKRP of "modecopy" on a GPU: uploading the copies, scratch memory, launching. */
#include "formats/modecopy/modecopy_cuda.h"
#include "device/cuda/cuda_sum.h"
#include "formats/modecopy/modecopy_launch.h"
#include "formats/modecopy/modecopy_layout.h"

/* One copy on the device. */
struct device_copy {
  uint32_t *plane[POLYAD_MAX_ORDER];
  void *values;
  uint64_t *row_start;
  uint32_t *row_id, *chunk_row;
  uint32_t *used; /* a bit per output row, NULL when all have nonzeros */
  uint64_t *part_start;
};

struct on_device {
  const struct pd_modecopy *host;
  struct device_copy copy[POLYAD_MAX_ORDER];
};

struct scratch {
  const struct pd_device *device;
  int segment;
  void *head, *tail;
};

static void unload(polyad_context *context, const struct pd_device *device, void *pointer) {
  struct on_device *made = pointer;
  if (made == NULL) return;
  for (int mode = 0; mode < POLYAD_MAX_ORDER; ++mode) {
    struct device_copy *copy = &made->copy[mode];
    for (int k = 0; k < POLYAD_MAX_ORDER; ++k)
      pd_cuda_release(context, device, copy->plane[k]);
    pd_cuda_release(context, device, copy->values);
    pd_cuda_release(context, device, copy->row_start);
    pd_cuda_release(context, device, copy->row_id);
    pd_cuda_release(context, device, copy->chunk_row);
    pd_cuda_release(context, device, copy->used);
    pd_cuda_release(context, device, copy->part_start);
  }
  pd_cuda_services->free(context, made);
}

/* Which output rows have nonzeros, as bits. */
static polyad_status upload_used(polyad_context *context, const struct pd_device *device,
                                 uint64_t dim, const struct pd_modecopy_copy *from,
                                 struct device_copy *to) {
  uint64_t words = (dim + 31) / 32;
  uint32_t *used;
  PD_TRY(pd_cuda_services->alloc(context, words, sizeof *used, (void **)&used));
  memset(used, 0, words * sizeof *used);
  for (uint64_t k = 0; k < from->rows; ++k)
    used[from->row_id[k] / 32] |= UINT32_C(1) << from->row_id[k] % 32;
  polyad_status status =
      pd_cuda_upload(context, device, words, sizeof *used, used, (void **)&to->used);
  pd_cuda_services->free(context, used);
  return status;
}

static polyad_status upload_copy(polyad_context *context, const struct pd_device *device,
                                 const struct pd_modecopy *host, int mode, struct device_copy *to) {
  const struct pd_modecopy_copy *from = &host->copy[mode];
  uint64_t padded = pd_modecopy_padded(host->nnz);
  for (int k = 0; k < from->planes; ++k)
    PD_TRY(pd_cuda_upload(context, device, padded, sizeof *from->plane[k], from->plane[k],
                          (void **)&to->plane[k]));
  PD_TRY(pd_cuda_upload(context, device, padded, pd_type_bytes(host->type), from->values,
                        &to->values));
  if (host->variant != PD_MODECOPY_SORTED)
    return pd_cuda_upload(context, device, (uint64_t)host->partitions + 1, sizeof *from->part_start,
                          from->part_start, (void **)&to->part_start);
  PD_TRY(pd_cuda_upload(context, device, from->rows + 1, sizeof *from->row_start, from->row_start,
                        (void **)&to->row_start));
  PD_TRY(pd_cuda_upload(context, device, from->rows, sizeof *from->row_id, from->row_id,
                        (void **)&to->row_id));
  PD_TRY(pd_cuda_upload(context, device, pd_modecopy_chunks(host->nnz) + 1, sizeof *from->chunk_row,
                        from->chunk_row, (void **)&to->chunk_row));
  if (from->row_id == NULL) return POLYAD_OK;
  return upload_used(context, device, host->dims[mode], from, to);
}

static polyad_status upload(polyad_context *context, const struct pd_device *device,
                            const void *storage, void **out) {
  const struct pd_modecopy *host = storage;
  struct on_device *made;
  *out = NULL;
  PD_TRY(pd_cuda_services->alloc(context, 1, sizeof *made, (void **)&made));
  *made = (struct on_device){.host = host};
  polyad_status status = POLYAD_OK;
  for (int mode = 0; mode < host->order && status == POLYAD_OK; ++mode)
    status = upload_copy(context, device, host, mode, &made->copy[mode]);
  if (status == POLYAD_OK)
    *out = made;
  else
    unload(context, device, made);
  return status;
}

/* Lanes and segments depend on whether rows are aligned; scratch is made for the worse case. */
static uint64_t carry_rows(const struct on_device *made, int segment) {
  return pd_gpu_sum_blocks(made->host->nnz, 32, segment);
}

static uint64_t workspace_bytes(const void *storage, uint64_t rank, int threads) {
  (void)threads;
  const struct on_device *made = storage;
  if (made->host->variant != PD_MODECOPY_SORTED) return 0;
  return pd_mul_saturated(2 * carry_rows(made, 64),
                          pd_mul_saturated(rank, pd_type_bytes(made->host->type)));
}

static void workspace_destroy(polyad_context *context, void *pointer) {
  struct scratch *scratch = pointer;
  if (scratch == NULL) return;
  pd_cuda_release(context, scratch->device, scratch->head);
  pd_cuda_release(context, scratch->device, scratch->tail);
  pd_cuda_services->free(context, scratch);
}

static polyad_status workspace_create(polyad_context *context, const struct pd_device *device,
                                      const void *storage, uint64_t rank, void **out) {
  const struct on_device *made = storage;
  struct scratch *scratch;
  *out = NULL;
  if (rank > INT32_MAX / 16)
    return pd_cuda_services->fail(context, POLYAD_OVERFLOW, "rank %llu is too large",
                                  (unsigned long long)rank);
  PD_TRY(pd_cuda_services->alloc(context, 1, sizeof *scratch, (void **)&scratch));
  *scratch = (struct scratch){.device = device};
  int lanes = pd_gpu_lanes((int)rank, (int)pd_type_bytes(made->host->type), 1);
  scratch->segment = pd_cuda_segment(pd_cuda_state_of(device), made->host->nnz, lanes);
  polyad_status status = POLYAD_OK;
  if (made->host->variant == PD_MODECOPY_SORTED) {
    uint64_t numbers = carry_rows(made, scratch->segment) * rank;
    size_t size = pd_type_bytes(made->host->type);
    status = pd_cuda_allocate(context, device, numbers, size, &scratch->head);
    if (status == POLYAD_OK)
      status = pd_cuda_allocate(context, device, numbers, size, &scratch->tail);
  }
  if (status == POLYAD_OK)
    *out = scratch;
  else
    workspace_destroy(context, scratch);
  return status;
}

static struct pd_gpu_field field_of(const struct device_copy *copy,
                                    const struct pd_modecopy_field *field,
                                    const struct pd_matrix *factor) {
  return (struct pd_gpu_field){.plane = copy->plane[field->plane],
                               .shift = (uint32_t)field->shift,
                               .mask = field->mask,
                               .factor = factor->data,
                               .stride = factor->stride};
}

static polyad_status run_sorted(polyad_context *context, const struct on_device *made,
                                const struct scratch *scratch, int mode,
                                const struct pd_matrix *const *factors, struct pd_matrix *out) {
  struct pd_cuda_state *state = pd_cuda_state_of(scratch->device);
  const struct pd_modecopy_copy *host = &made->host->copy[mode];
  const struct device_copy *copy = &made->copy[mode];
  bool aligned = pd_cuda_aligned(out);
  struct pd_gpu_sum sum = {.nnz = made->host->nnz,
                           .rows = host->rows,
                           .flags = copy->plane[0],
                           .values = copy->values,
                           .row_start = copy->row_start,
                           .row_id = copy->row_id,
                           .chunk_row = copy->chunk_row,
                           .out = out->data,
                           .out_stride = out->stride,
                           .head = scratch->head,
                           .tail = scratch->tail,
                           .inputs = host->inputs,
                           .rank = (int)out->columns,
                           .segment = scratch->segment};
  for (int k = 0; k < host->inputs; ++k) {
    const struct pd_matrix *factor = factors[host->field[k].mode];
    sum.field[k] = field_of(copy, &host->field[k], factor);
    aligned = aligned && pd_cuda_aligned(factor);
  }
  if (copy->used != NULL)
    PD_TRY(PD_CUDA(context, state,
                   pd_gpu_zero_unused(copy->used, out->rows, out->data,
                                      out->stride * pd_type_bytes(out->type), state->stream)));
  if (out->type == POLYAD_F32)
    return PD_CUDA(context, state, pd_modecopy_sum_f32(&sum, aligned, state->stream));
  return PD_CUDA(context, state, pd_modecopy_sum_f64(&sum, aligned, state->stream));
}

static polyad_status run_paper(polyad_context *context, const struct on_device *made, int mode,
                               const struct pd_matrix *const *factors, struct pd_matrix *out) {
  struct pd_cuda_state *state = pd_cuda_state_of(out->device);
  const struct pd_modecopy_copy *host = &made->host->copy[mode];
  const struct device_copy *copy = &made->copy[mode];
  struct pd_gpu_paper paper = {.output = field_of(copy, &host->field[host->inputs], out),
                               .values = copy->values,
                               .part_start = copy->part_start,
                               .inputs = host->inputs,
                               .rank = (int)out->columns,
                               .partitions = made->host->partitions,
                               .columns = made->host->columns,
                               .scheme = host->scheme};
  for (int k = 0; k < host->inputs; ++k)
    paper.field[k] = field_of(copy, &host->field[k], factors[host->field[k].mode]);
  PD_TRY(PD_CUDA(context, state,
                 cudaMemsetAsync(out->data, 0, out->rows * out->stride * pd_type_bytes(out->type),
                                 state->stream)));
  if (out->type == POLYAD_F32)
    return PD_CUDA(context, state, pd_modecopy_paper_f32(&paper, state->stream));
  return PD_CUDA(context, state, pd_modecopy_paper_f64(&paper, state->stream));
}

static polyad_status mttkrp(polyad_context *context, const void *storage, void *workspace, int mode,
                            const struct pd_matrix *const *factors, struct pd_matrix *out) {
  const struct on_device *made = storage;
  const struct scratch *scratch = workspace;
  PD_TRY(pd_cuda_enter(context, pd_cuda_state_of(scratch->device)));
  if (made->host->variant == PD_MODECOPY_SORTED)
    return run_sorted(context, made, scratch, mode, factors, out);
  return run_paper(context, made, mode, factors, out);
}

const struct polyad_kernels pd_modecopy_kernels_cuda = {
    .format = "modecopy",
    .device = "cuda",
    .upload = upload,
    .unload = unload,
    .workspace_bytes = workspace_bytes,
    .workspace_create = workspace_create,
    .workspace_destroy = workspace_destroy,
    .mttkrp = mttkrp,
};
