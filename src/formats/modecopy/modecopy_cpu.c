/* MTTKRP of "modecopy" on the CPU, and a loss's gain and its gradient: the copy of the output mode
 * is a list for the walk that all lists share. In the default variant it is sorted by row, and the
 * kernels of such lists read it as it is packed; in the paper's variants, which are made for GPUs,
 * rows do not stand together. */
#include "formats/modecopy/modecopy_build.h"
#include "formats/nonzeros/nonzeros.h"
#include "formats/rowsum/rowsum.h"
#include "formats/tables.h"
#include <string.h>

struct scratch {
  struct pd_scratch base;
  void *walk;
};

/* What the walk gets as its storage. */
struct list {
  struct pd_nz head;
  const struct pd_modecopy *storage;
};

static void modecopy_cpu_decode(const void *list, int mode, uint64_t first, int count,
                                struct pd_chunk *chunk) {
  pd_modecopy_decode_copy(((const struct list *)list)->storage, mode, first, count, chunk);
}

static bool modecopy_cpu_sorted(const void *list, int mode, struct pd_rowsum *sorted) {
  const struct pd_modecopy *storage = ((const struct list *)list)->storage;
  const struct pd_modecopy_copy *copy = &storage->copy[mode];
  *sorted = (struct pd_rowsum){.nnz = storage->nnz,
                               .runs = copy->order.rows,
                               .start_bytes = sizeof *copy->order.row_start,
                               .row_start = copy->order.row_start,
                               .row_bytes = copy->order.row_id == NULL ? 0 : 4,
                               .row_id = copy->order.row_id,
                               .columns = copy->inputs,
                               .values = copy->values,
                               .step = 1};
  for (int g = 0; g < copy->inputs; ++g) {
    const struct pd_modecopy_field *field = &copy->field[g];
    sorted->mode[g] = field->mode;
    sorted->id[g] = copy->plane[field->plane];
    sorted->shift[g] = field->shift;
    sorted->mask[g] = field->mask;
  }
  return true;
}

static struct list modecopy_cpu_list(const struct pd_modecopy *storage) {
  static const struct pd_nz_ops sorted = {.rows_together = true,
                                          .decode = modecopy_cpu_decode,
                                          .sorted = modecopy_cpu_sorted},
                                partitioned = {.decode = modecopy_cpu_decode};
  struct list list = {
      .head = {.ops = storage->variant == PD_MODECOPY_SORTED ? &sorted : &partitioned,
               .order = storage->order,
               .nnz = storage->nnz,
               .type = storage->type},
      .storage = storage};
  memcpy(list.head.dims, storage->dims, sizeof list.head.dims);
  return list;
}

static uint64_t modecopy_cpu_workspace_bytes(const void *storage, const uint64_t *ranks,
                                             int threads) {
  const struct list list = modecopy_cpu_list(storage);
  return pd_nz_walk_cpu.workspace_bytes(&list, ranks, threads);
}

static polyad_status modecopy_cpu_fill(polyad_context *context, const void *storage,
                                       const uint64_t *ranks, void *scratch) {
  struct scratch *s = scratch;
  const struct list list = modecopy_cpu_list(storage);
  (void)context;
  return pd_walk_open_within(&s->base, &pd_nz_walk_cpu, &list, ranks, &s->walk);
}

static polyad_status modecopy_cpu_run(polyad_context *context, const void *storage, void *scratch,
                                      const struct pd_call *call) {
  const struct list list = modecopy_cpu_list(storage);
  return pd_nz_walk_cpu.run(context, &list, ((const struct scratch *)scratch)->walk, call);
}

static const struct pd_walk modecopy_cpu_rows = {
    .ops = PD_OPS_MTTKRP | PD_OPS_GRADIENT | PD_OPS_GAIN,
    .workspace_bytes = modecopy_cpu_workspace_bytes,
    .scratch_bytes = sizeof(struct scratch),
    .fill = modecopy_cpu_fill,
    .run = modecopy_cpu_run,
};

const struct polyad_kernels pd_modecopy_kernels_cpu = {
    .format = "modecopy",
    .device = "cpu",
    .walks = {&modecopy_cpu_rows, &pd_modecopy_ttmc_walk},
    .sum_depth = pd_sum_depth_on_cpu,
    .phi_over_mttkrp = 1.5,
};
