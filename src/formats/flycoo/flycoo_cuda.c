/* MTTKRP of "flycoo" on a GPU. The plan holds the elements in the order of mode 0; a workspace
 * holds the two copies between which they are remapped. */
#include "formats/flycoo/flycoo_cuda.h"
#include "device/cuda/cuda_sum.h"
#include "formats/flycoo/flycoo_launch.h"
#include "formats/flycoo/flycoo_layout.h"

/* The order of one mode on the device. */
struct device_mode {
  uint64_t *part_start, *row_start;
  uint32_t *row_id, *chunk_row;
  uint32_t *used;
};

struct on_device {
  const struct pd_flycoo *host;
  uint32_t *elements[POLYAD_MAX_ORDER];
  struct device_mode mode[POLYAD_MAX_ORDER];
};

struct scratch {
  const struct pd_device *device;
  int segment;
  void *head, *tail;
  uint32_t *copy[2];       /* NULL without remapping */
  const uint32_t *current; /* one of them, or the plan's elements */
  int mode;                /* in whose order `current` is */
};

static void unload(polyad_context *context, const struct pd_device *device, void *pointer) {
  struct on_device *made = pointer;
  if (made == NULL) return;
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n) {
    pd_cuda_release(context, device, made->elements[n]);
    pd_cuda_release(context, device, made->mode[n].part_start);
    pd_cuda_release(context, device, made->mode[n].row_start);
    pd_cuda_release(context, device, made->mode[n].row_id);
    pd_cuda_release(context, device, made->mode[n].chunk_row);
    pd_cuda_release(context, device, made->mode[n].used);
  }
  pd_cuda_services->free(context, made);
}

/* Which output rows have nonzeros, as bits. */
static polyad_status upload_used(polyad_context *context, const struct pd_device *device,
                                 uint64_t dim, const struct pd_flycoo_mode *from,
                                 struct device_mode *to) {
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

static polyad_status upload_mode(polyad_context *context, const struct pd_device *device,
                                 const struct pd_flycoo *host, int mode, struct device_mode *to) {
  const struct pd_flycoo_mode *from = &host->mode[mode];
  PD_TRY(pd_cuda_upload(context, device, (uint64_t)host->partitions + 1, sizeof *from->part_start,
                        from->part_start, (void **)&to->part_start));
  if (!host->sorted) return POLYAD_OK;
  uint64_t chunks = (host->nnz + PD_FLYCOO_CHUNK - 1) / PD_FLYCOO_CHUNK;
  PD_TRY(pd_cuda_upload(context, device, from->rows + 1, sizeof *from->row_start, from->row_start,
                        (void **)&to->row_start));
  PD_TRY(pd_cuda_upload(context, device, from->rows, sizeof *from->row_id, from->row_id,
                        (void **)&to->row_id));
  PD_TRY(pd_cuda_upload(context, device, chunks + 1, sizeof *from->chunk_row, from->chunk_row,
                        (void **)&to->chunk_row));
  if (from->rows == host->dims[mode]) return POLYAD_OK;
  return upload_used(context, device, host->dims[mode], from, to);
}

static polyad_status upload(polyad_context *context, const struct pd_device *device,
                            const void *storage, void **out) {
  const struct pd_flycoo *host = storage;
  struct on_device *made;
  *out = NULL;
  PD_TRY(pd_cuda_services->alloc(context, 1, sizeof *made, (void **)&made));
  *made = (struct on_device){.host = host};
  polyad_status status = POLYAD_OK;
  uint64_t words = host->nnz * (uint64_t)host->packing.words;
  for (int n = 0; n < host->order && status == POLYAD_OK; ++n) {
    status = pd_cuda_upload(context, device, words, sizeof *host->elements[n], host->elements[n],
                            (void **)&made->elements[n]);
    if (status == POLYAD_OK) status = upload_mode(context, device, host, n, &made->mode[n]);
  }
  if (status == POLYAD_OK)
    *out = made;
  else
    unload(context, device, made);
  return status;
}

static uint64_t carry_rows(const struct on_device *made, int segment) {
  return pd_gpu_sum_blocks(made->host->nnz, 32, segment);
}

static uint64_t workspace_bytes(const void *storage, uint64_t rank, int threads) {
  (void)threads;
  const struct on_device *made = storage;
  uint64_t copies = made->host->remap ? 2 * pd_flycoo_copy_bytes(made->host) : 0;
  if (!made->host->sorted) return copies;
  return pd_add_saturated(
      copies, pd_mul_saturated(2 * carry_rows(made, 64),
                               pd_mul_saturated(rank, pd_type_bytes(made->host->type))));
}

static void workspace_destroy(polyad_context *context, void *pointer) {
  struct scratch *scratch = pointer;
  if (scratch == NULL) return;
  pd_cuda_release(context, scratch->device, scratch->head);
  pd_cuda_release(context, scratch->device, scratch->tail);
  pd_cuda_release(context, scratch->device, scratch->copy[0]);
  pd_cuda_release(context, scratch->device, scratch->copy[1]);
  pd_cuda_services->free(context, scratch);
}

static polyad_status allocate_scratch(polyad_context *context, const struct on_device *made,
                                      uint64_t rank, struct scratch *scratch) {
  const struct pd_flycoo *host = made->host;
  size_t size = pd_type_bytes(host->type);
  if (host->sorted) {
    uint64_t numbers = carry_rows(made, scratch->segment) * rank;
    PD_TRY(pd_cuda_allocate(context, scratch->device, numbers, size, &scratch->head));
    PD_TRY(pd_cuda_allocate(context, scratch->device, numbers, size, &scratch->tail));
  }
  uint64_t bytes = pd_flycoo_copy_bytes(host);
  for (int k = 0; host->remap && k < 2; ++k)
    PD_TRY(pd_cuda_allocate(context, scratch->device, bytes, 1, (void **)&scratch->copy[k]));
  return POLYAD_OK;
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
  *scratch = (struct scratch){.device = device, .current = made->elements[0]};
  int lanes = pd_gpu_lanes((int)rank, (int)pd_type_bytes(made->host->type), 1);
  scratch->segment =
      pd_cuda_segment(pd_cuda_state_of(device), made->host->nnz, lanes < 8 ? 8 : lanes);
  polyad_status status = allocate_scratch(context, made, rank, scratch);
  if (status == POLYAD_OK)
    *out = scratch;
  else
    workspace_destroy(context, scratch);
  return status;
}

static struct pd_gpu_bits bits_of(const struct pd_flycoo_field *field) {
  return (struct pd_gpu_bits){.word = (uint32_t)field->word,
                              .shift = (uint32_t)field->shift,
                              .mask = (uint32_t)((UINT64_C(1) << field->bits) - 1),
                              .two_words = field->shift + field->bits > 32};
}

static uint32_t *other_copy(const struct scratch *scratch) {
  return scratch->current == scratch->copy[0] ? scratch->copy[1] : scratch->copy[0];
}

/* Brings the elements into the order of `mode` when they are not. */
static polyad_status arrange(polyad_context *context, const struct on_device *made,
                             struct scratch *scratch, int mode) {
  const struct pd_flycoo *host = made->host;
  if (!host->remap || scratch->mode == mode) {
    if (!host->remap) scratch->current = made->elements[mode];
    return POLYAD_OK;
  }
  scratch->mode = mode;
  if (mode == 0 && host->sorted) {
    scratch->current = made->elements[0];
    return POLYAD_OK;
  }
  struct pd_cuda_state *state = pd_cuda_state_of(scratch->device);
  uint32_t *to = other_copy(scratch);
  pd_cuda_services->log(context, POLYAD_LOG_DEBUG,
                        "flycoo: remapping into the order of mode %d, out of turn", mode + 1);
  polyad_status status =
      PD_CUDA(context, state,
              pd_flycoo_remap(host->nnz, host->packing.words, bits_of(&host->packing.remap[mode]),
                              scratch->current, to, state->stream));
  scratch->current = to;
  return status;
}

static struct pd_gpu_fly describe(const struct on_device *made, const struct scratch *scratch,
                                  int mode, const struct pd_matrix *const *factors,
                                  const struct pd_matrix *out, bool *aligned) {
  const struct pd_flycoo *host = made->host;
  const struct device_mode *order = &made->mode[mode];
  struct pd_gpu_fly fly = {.nnz = host->nnz,
                           .rows = host->mode[mode].rows,
                           .in = scratch->current,
                           .output = bits_of(&host->packing.index[mode]),
                           .remap = bits_of(&host->packing.remap[(mode + 1) % host->order]),
                           .row_start = order->row_start,
                           .row_id = order->row_id,
                           .chunk_row = order->chunk_row,
                           .out = out->data,
                           .out_stride = out->stride,
                           .head = scratch->head,
                           .tail = scratch->tail,
                           .words = host->packing.words,
                           .inputs = host->mode[mode].inputs,
                           .rank = (int)out->columns,
                           .segment = scratch->segment,
                           .part_start = order->part_start,
                           .partitions = host->partitions,
                           .columns = host->columns};
  *aligned = pd_cuda_aligned(out);
  for (int k = 0; k < fly.inputs; ++k) {
    const struct pd_matrix *factor = factors[host->mode[mode].input[k]];
    fly.input[k] = bits_of(&host->packing.index[host->mode[mode].input[k]]);
    fly.factor[k] = factor->data;
    fly.stride[k] = factor->stride;
    *aligned = *aligned && pd_cuda_aligned(factor);
  }
  return fly;
}

static polyad_status run(polyad_context *context, const struct on_device *made,
                         const struct pd_gpu_fly *fly, int mode, bool aligned,
                         const struct pd_matrix *out) {
  struct pd_cuda_state *state = pd_cuda_state_of(out->device);
  uint64_t row_bytes = out->stride * pd_type_bytes(out->type);
  bool wide = out->type == POLYAD_F64;
  if (!made->host->sorted) {
    PD_TRY(PD_CUDA(context, state,
                   cudaMemsetAsync(out->data, 0, out->rows * row_bytes, state->stream)));
    return PD_CUDA(context, state,
                   wide ? pd_flycoo_paper_f64(fly, state->stream)
                        : pd_flycoo_paper_f32(fly, state->stream));
  }
  const uint32_t *used = made->mode[mode].used;
  if (used != NULL)
    PD_TRY(PD_CUDA(context, state,
                   pd_gpu_zero_unused(used, out->rows, out->data, row_bytes, state->stream)));
  return PD_CUDA(context, state,
                 wide ? pd_flycoo_sum_f64(fly, aligned, state->stream)
                      : pd_flycoo_sum_f32(fly, aligned, state->stream));
}

/* After a failure nobody knows what the copies hold; the plan's elements are untouched. */
static polyad_status forget(const struct on_device *made, struct scratch *scratch,
                            polyad_status status) {
  scratch->current = made->elements[0];
  scratch->mode = 0;
  return status;
}

static polyad_status mttkrp(polyad_context *context, const void *storage, void *workspace, int mode,
                            const struct pd_matrix *const *factors, struct pd_matrix *out) {
  const struct on_device *made = storage;
  const struct pd_flycoo *host = made->host;
  struct scratch *scratch = workspace;
  int next = (mode + 1) % host->order;
  bool aligned;
  PD_TRY(pd_cuda_enter(context, pd_cuda_state_of(scratch->device)));
  polyad_status status = arrange(context, made, scratch, mode);
  if (status != POLYAD_OK) return forget(made, scratch, status);
  struct pd_gpu_fly fly = describe(made, scratch, mode, factors, out, &aligned);
  /* The plan still has mode 0's order: the default need not write it again. The paper's algorithm
   * does. With a single mode there is nothing to remap into. */
  bool moves = host->remap && next != mode && (next != 0 || !host->sorted);
  if (moves) fly.out_elements = other_copy(scratch);
  status = run(context, made, &fly, mode, aligned, out);
  if (status != POLYAD_OK) return forget(made, scratch, status);
  if (moves) {
    scratch->current = fly.out_elements;
    scratch->mode = next;
  } else if (host->remap && next != mode) {
    scratch->current = made->elements[0];
    scratch->mode = 0;
  }
  return POLYAD_OK;
}

const struct polyad_kernels pd_flycoo_kernels_cuda = {
    .format = "flycoo",
    .device = "cuda",
    .upload = upload,
    .unload = unload,
    .workspace_bytes = workspace_bytes,
    .workspace_create = workspace_create,
    .workspace_destroy = workspace_destroy,
    .mttkrp = mttkrp,
};
