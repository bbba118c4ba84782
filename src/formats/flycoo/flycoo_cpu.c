/* MTTKRP of "flycoo" on the CPU, and a loss's gain and its gradient: the elements, in the order of
 * the output mode, are a list for the walk that all lists share; then they are moved into the order
 * of the next mode. No two elements have one place: no locks. Gains are summed in whatever order
 * the elements have. */
#include "core/threads.h"
#include "formats/flycoo/flycoo_layout.h"
#include "formats/nonzeros/nonzeros.h"
#include "formats/rowsum/rowsum.h"
#include "formats/tables.h"

struct scratch {
  struct pd_scratch base;
  void *walk;
  int threads;
  uint32_t *copy[2]; /* NULL without remapping */
  const uint32_t *current;
  int mode; /* in whose order `current` is */
};

/* What the walk gets as its storage. */
struct list {
  struct pd_nz head;
  const struct pd_flycoo *host;
  const uint32_t *elements;
  int mode; /* in whose order they are */
};

static void flycoo_cpu_decode(const void *pointer, int mode, uint64_t first, int count,
                              struct pd_chunk *chunk) {
  const struct list *list = pointer;
  (void)mode;
  pd_flycoo_decode_elements(list->host, list->elements, first, count, chunk);
}

static bool flycoo_cpu_sorted(const void *pointer, int mode, struct pd_rowsum *sorted) {
  const struct list *list = pointer;
  const struct pd_flycoo *host = list->host;
  const struct pd_ordered *order = &host->mode[mode].order;
  if (mode != list->mode) return false;
  *sorted = (struct pd_rowsum){.nnz = host->nnz,
                               .runs = order->rows,
                               .start_bytes = sizeof *order->row_start,
                               .row_start = order->row_start,
                               .row_bytes = sizeof *order->row_id,
                               .row_id = order->row_id,
                               .columns = order->inputs,
                               .values = list->elements,
                               .inside = true,
                               .step = host->packing.words,
                               .scattered = true,
                               .used = order->used};
  for (int g = 0; g < order->inputs; ++g) {
    const struct pd_flycoo_field *field = &host->packing.index[order->input[g]];
    sorted->mode[g] = order->input[g];
    sorted->id[g] = list->elements + field->word;
    sorted->shift[g] = field->shift;
    sorted->mask[g] = (uint32_t)((UINT64_C(1) << field->bits) - 1);
  }
  return true;
}

/* In the default variants a partition is sorted by row, and no two have a row in common. */
static struct list flycoo_cpu_list(const struct pd_flycoo *host, const uint32_t *elements,
                                   int mode) {
  static const struct pd_nz_ops sorted = {.rows_together = true,
                                          .decode = flycoo_cpu_decode,
                                          .sorted = flycoo_cpu_sorted},
                                partitioned = {.decode = flycoo_cpu_decode};
  struct list list = {.head = {.ops = host->sorted ? &sorted : &partitioned,
                               .order = host->order,
                               .nnz = host->nnz,
                               .type = host->type},
                      .host = host,
                      .elements = elements,
                      .mode = mode};
  memcpy(list.head.dims, host->dims, sizeof list.head.dims);
  return list;
}

static uint64_t flycoo_cpu_workspace_bytes(const void *storage, const uint64_t *ranks,
                                           int threads) {
  const struct pd_flycoo *host = storage;
  const struct list list = flycoo_cpu_list(host, NULL, 0);
  return pd_add_saturated(host->remap ? 2 * pd_flycoo_copy_bytes(host) : 0,
                          pd_nz_walk_cpu.workspace_bytes(&list, ranks, threads));
}

static polyad_status flycoo_cpu_fill(polyad_context *context, const void *storage,
                                     const uint64_t *ranks, void *pointer) {
  const struct pd_flycoo *host = storage;
  const struct list list = flycoo_cpu_list(host, NULL, 0);
  struct scratch *scratch = pointer;
  scratch->threads = pd_kernel_threads(context, host->nnz, ranks[0]);
  scratch->current = host->elements[0];
  PD_TRY(pd_walk_open_within(&scratch->base, &pd_nz_walk_cpu, &list, ranks, &scratch->walk));
  for (int k = 0; host->remap && k < 2; ++k)
    PD_TRY(pd_scratch_array(&scratch->base, pd_flycoo_copy_bytes(host), 1,
                            (void **)&scratch->copy[k]));
  return POLYAD_OK;
}

/* Moves elements [begin, end) to their places. Called with a constant number of words it copies an
 * element without a call. */
static inline __attribute__((always_inline)) void move_elements(const uint32_t *restrict from,
                                                                uint32_t *restrict to, size_t words,
                                                                const struct pd_flycoo_field field,
                                                                uint64_t begin, uint64_t end) {
  for (uint64_t p = begin; p < end; ++p)
    memcpy(to + pd_flycoo_get(from + p * words, &field) * words, from + p * words,
           words * sizeof *to);
}

static void move_part(const uint32_t *from, uint32_t *to, size_t words,
                      const struct pd_flycoo_field field, uint64_t begin, uint64_t end) {
  switch (words) {
  case 3:
    move_elements(from, to, 3, field, begin, end);
    break;
  case 4:
    move_elements(from, to, 4, field, begin, end);
    break;
  case 5:
    move_elements(from, to, 5, field, begin, end);
    break;
  case 6:
    move_elements(from, to, 6, field, begin, end);
    break;
  default:
    move_elements(from, to, words, field, begin, end);
  }
}

/* Brings the elements into the order of `mode` when they are not. As on the GPU the plan still has
 * mode 0's order, and only the paper's variants write it again. */
static void flycoo_cpu_arrange(const struct pd_flycoo *host, struct scratch *scratch, int mode) {
  if (!host->remap) scratch->current = host->elements[mode];
  if (!host->remap || scratch->mode == mode) return;
  scratch->mode = mode;
  if (mode == 0 && host->sorted) {
    scratch->current = host->elements[0];
    return;
  }
  uint32_t *to = scratch->copy[scratch->current == scratch->copy[0]];
  const uint32_t *from = scratch->current;
  const int threads = scratch->threads;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    move_part(from, to, (size_t)host->packing.words, host->packing.remap[mode],
              pd_part_begin(host->nnz, t, threads), pd_part_begin(host->nnz, t + 1, threads));
  scratch->current = to;
}

static polyad_status flycoo_cpu_run(polyad_context *context, const void *storage, void *workspace,
                                    const struct pd_call *call) {
  const struct pd_flycoo *host = storage;
  struct scratch *scratch = workspace;
  if (call->op.into == PD_INTO_ROWS && host->remap && scratch->mode != call->mode)
    pd_log(context, POLYAD_LOG_DEBUG, "flycoo: remapping into the order of mode %d, out of turn",
           pd_shown_mode(context, call->mode));
  if (call->op.into == PD_INTO_ROWS || !host->remap) flycoo_cpu_arrange(host, scratch, call->mode);
  const struct list list =
      flycoo_cpu_list(host, scratch->current, host->remap ? scratch->mode : call->mode);
  PD_TRY(pd_nz_walk_cpu.run(context, &list, scratch->walk, call));
  if (call->op.into == PD_INTO_ROWS && host->remap)
    flycoo_cpu_arrange(host, scratch, (call->mode + 1) % host->order);
  return POLYAD_OK;
}

const uint32_t *pd_flycoo_cpu_elements(const void *pointer, int *mode) {
  const struct scratch *scratch = pointer;
  *mode = scratch->mode;
  return scratch->current;
}

static const struct pd_walk flycoo_cpu_partitions = {
    .ops = PD_OPS_MTTKRP | PD_OPS_GRADIENT | PD_OPS_GAIN,
    .workspace_bytes = flycoo_cpu_workspace_bytes,
    .scratch_bytes = sizeof(struct scratch),
    .fill = flycoo_cpu_fill,
    .run = flycoo_cpu_run,
};

const struct polyad_kernels pd_flycoo_kernels_cpu = {
    .format = "flycoo",
    .device = "cpu",
    .walks = {&flycoo_cpu_partitions},
    .sum_depth = pd_sum_depth_on_cpu,
    .phi_over_mttkrp = 1.4,
};
