/* MTTKRP of "twotree" on a GPU. Both sums of a side are sums by row of nonzeros that are sorted by
 * row, for which format "modecopy" has the kernel: of the nonzeros by the number of their tuple,
 * which gives the partial rows Y, and of the tuples by the index in a mode, with Y as one more
 * factor. Y is kept while the factors that it was made from have their versions. */
#include "formats/modecopy/modecopy_cuda.h"
#include "formats/modecopy/modecopy_pairs.h"
#include "formats/tables.h"
#include "formats/twotree/twotree_cut.h"

struct twotree_cuda_scratch {
  struct pd_scratch base;
  struct pd_ordered_scratch pass; /* of sums over nonzeros: they are as many on every side */
  struct pd_ordered_table table[PD_TWOTREE_MAX_ORDER]; /* of each side's sums over nonzeros */
  struct pd_ordered_scratch tuples[PD_TWOTREE_MAX_ORDER];
  struct pd_matrix rows[PD_TWOTREE_MAX_ORDER]; /* Y */
  struct pd_versions made[PD_TWOTREE_MAX_ORDER];
};

/* The walk that sums rows. */
static const struct pd_walk *sums(void) {
  return pd_walk_of(&pd_modecopy_kernels_cuda, PD_OPS_MTTKRP);
}

/* Of Y, whose rows lie as those of factors do. */
static uint64_t rows_bytes(uint64_t tuples, uint64_t rank, polyad_type type) {
  return pd_mul_saturated(pd_mul_saturated(tuples, pd_wide_stride(type, rank)),
                          pd_type_bytes(type));
}

static uint64_t twotree_cuda_workspace_bytes(const void *storage, const uint64_t *ranks,
                                             int threads) {
  const struct pd_twotree *twotree = storage;
  uint64_t total = 0;
  for (int s = 0; s < twotree->sides; ++s) {
    const struct pd_twotree_side *side = &twotree->side[s];
    if (s == 0 && twotree->nnz > 0)
      total = pd_add_saturated(total, sums()->workspace_bytes(&side->nonzeros, ranks, threads));
    if (s > 0 && twotree->nnz > 0)
      total = pd_add_saturated(total, pd_modecopy_table_bytes(&side->nonzeros, ranks[0]));
    if (side->tuples == 0) continue;
    total = pd_add_saturated(total,
                             sums()->workspace_bytes(&twotree->side[s].by_tuple, ranks, threads));
    total = pd_add_saturated(total, rows_bytes(side->tuples, ranks[0], twotree->type));
  }
  return total;
}

static polyad_status create_rows(polyad_context *context, const struct pd_twotree *twotree, int s,
                                 const uint64_t *ranks, struct twotree_cuda_scratch *scratch) {
  const struct pd_device *device = scratch->base.device;
  uint64_t tuples = twotree->side[s].tuples, rank = ranks[0];
  struct pd_matrix *rows = &scratch->rows[s];
  uint64_t bytes = rows_bytes(tuples, rank, twotree->type);
  *rows = (struct pd_matrix){.device = device,
                             .type = twotree->type,
                             .rows = tuples,
                             .columns = rank,
                             .stride = pd_wide_stride(twotree->type, rank)};
  scratch->tuples[s].base = pd_scratch_part(&scratch->base);
  PD_TRY(sums()->fill(context, &twotree->side[s].by_tuple, ranks, &scratch->tuples[s]));
  PD_TRY(PD_CUDA_SCRATCH(context, &scratch->base, bytes, 1, &rows->data));
  return device->functions->fill_zero(context, device, rows->data, bytes);
}

static polyad_status twotree_cuda_fill(polyad_context *context, const void *storage,
                                       const uint64_t *ranks, void *pointer) {
  const struct pd_twotree *twotree = storage;
  struct twotree_cuda_scratch *scratch = pointer;
  scratch->pass.base = pd_scratch_part(&scratch->base);
  if (twotree->nnz > 0)
    PD_TRY(sums()->fill(context, &twotree->side[0].nonzeros, ranks, &scratch->pass));
  scratch->table[0] = scratch->pass.table;
  for (int s = 1; s < twotree->sides && twotree->nnz > 0; ++s)
    PD_TRY(pd_modecopy_table_make(context, &twotree->side[s].nonzeros, ranks[0], &scratch->base,
                                  &scratch->table[s]));
  for (int s = 0; s < twotree->sides; ++s)
    if (twotree->side[s].tuples > 0) PD_TRY(create_rows(context, twotree, s, ranks, scratch));
  return POLYAD_OK;
}

/* The side of a mode, and the mode's number there. */
static int side_of(const struct pd_twotree *twotree, int mode, int *which) {
  for (int s = 0; s < twotree->sides; ++s)
    for (int k = 0; k < twotree->side[s].modes.count; ++k)
      if (twotree->side[s].modes.mode[k] == mode) {
        *which = k;
        return s;
      }
  return -1; /* every mode has one */
}

/* A sum over the nonzeros in the order of a side: all share a workspace, but for their tables. */
static polyad_status twotree_cuda_sum_nonzeros(polyad_context *context,
                                               const struct pd_twotree *twotree,
                                               struct twotree_cuda_scratch *scratch, int s,
                                               const struct pd_call *call) {
  scratch->pass.table = scratch->table[s];
  polyad_status status = sums()->run(context, &twotree->side[s].nonzeros, &scratch->pass, call);
  scratch->table[s] = scratch->pass.table;
  return status;
}

/* Makes the partial rows of a side anew where they are of other factors. */
static polyad_status make_partial_rows(polyad_context *context, const struct pd_twotree *twotree,
                                       struct twotree_cuda_scratch *scratch, int s,
                                       const struct pd_matrix *const *factors) {
  const struct pd_twotree_modes *modes = &twotree->side[s].modes;
  const struct pd_matrix *inputs[POLYAD_MAX_ORDER] = {&scratch->rows[s]};
  const struct pd_call call = {
      .op = PD_MTTKRP, .mode = 0, .factors = inputs, .out = &scratch->rows[s]};
  for (int k = 0; k < modes->others; ++k)
    inputs[1 + k] = factors[modes->other[k]];
  uint64_t others = pd_twotree_others(&twotree->side[s]);
  if (pd_versions_hold(&scratch->made[s], factors, others)) return POLYAD_OK;
  PD_TRY(twotree_cuda_sum_nonzeros(context, twotree, scratch, s, &call));
  pd_versions_set(&scratch->made[s], factors, others);
  return POLYAD_OK;
}

static uint64_t twotree_cuda_kept(const void *storage, const void *workspace,
                                  const struct pd_matrix *const *factors) {
  const struct pd_twotree *twotree = storage;
  const struct twotree_cuda_scratch *scratch = workspace;
  uint64_t which = 0;
  for (int s = 0; s < twotree->sides; ++s)
    if (pd_versions_hold(&scratch->made[s], factors, pd_twotree_others(&twotree->side[s])))
      which |= UINT64_C(1) << s;
  return which;
}

static void twotree_cuda_keep(const void *storage, void *workspace,
                              const struct pd_matrix *const *factors, uint64_t which) {
  const struct pd_twotree *twotree = storage;
  struct twotree_cuda_scratch *scratch = workspace;
  for (int s = 0; s < twotree->sides; ++s)
    if ((which >> s & 1) != 0)
      pd_versions_set(&scratch->made[s], factors, pd_twotree_others(&twotree->side[s]));
}

static polyad_status twotree_cuda_run(polyad_context *context, const void *storage, void *workspace,
                                      const struct pd_call *call) {
  const struct pd_twotree *twotree = storage;
  struct twotree_cuda_scratch *scratch = workspace;
  const struct pd_device *device = scratch->base.device;
  struct pd_matrix *out = call->out;
  int which = 0, s = side_of(twotree, call->mode, &which);
  const struct pd_twotree_modes *modes = &twotree->side[s].modes;
  if (twotree->nnz == 0)
    return device->functions->fill_zero(context, device, out->data,
                                        out->rows * out->stride * pd_type_bytes(out->type));
  if (modes->count == 1) return twotree_cuda_sum_nonzeros(context, twotree, scratch, s, call);
  PD_TRY(make_partial_rows(context, twotree, scratch, s, call->factors));
  const struct pd_matrix *inputs[POLYAD_MAX_ORDER] = {&scratch->rows[s]};
  const struct pd_call last = {.op = PD_MTTKRP,
                               .mode = 1 + which,
                               .factors = inputs,
                               .out = out,
                               .leaves_unused = call->leaves_unused};
  for (int k = 0; k < modes->count; ++k)
    inputs[1 + k] = call->factors[modes->mode[k]];
  return sums()->run(context, &twotree->side[s].by_tuple, &scratch->tuples[s], &last);
}

/* Those on the way into a partial row, and from there into the mode's. */
static uint64_t twotree_cuda_sum_depth(const void *storage, const void *workspace, int mode,
                                       uint64_t longest_row) {
  const struct pd_twotree *twotree = storage;
  const struct twotree_cuda_scratch *scratch = workspace;
  int which = 0, s = side_of(twotree, mode, &which);
  uint64_t depth = 0;
  if (twotree->nnz == 0) return 0;
  depth = pd_modecopy_kernels_cuda.sum_depth(&twotree->side[s].nonzeros, &scratch->pass, 0,
                                             longest_row);
  if (twotree->side[s].modes.count == 1) return depth;
  return depth + pd_modecopy_kernels_cuda.sum_depth(&twotree->side[s].by_tuple, &scratch->tuples[s],
                                                    1 + which, longest_row);
}

static uint64_t twotree_cuda_device_bytes(const struct pd_traits *traits,
                                          const struct pd_request *request,
                                          uint64_t storage_bytes) {
  struct pd_twotree_cut cut;
  uint64_t total = pd_add_saturated(
      storage_bytes, pd_ordered_scratch_bytes(traits->nnz, request->rank, request->precision));
  pd_twotree_cut_choose(traits, request, &cut);
  for (int s = 0; s < cut.sides; ++s) {
    struct pd_twotree_modes modes = pd_twotree_modes_of(traits->order, &cut, s);
    struct pd_traits pass = *traits, by_tuple;
    uint64_t tuples = pd_twotree_tuples_at_most(traits, &modes);
    if (modes.count > 1) pd_twotree_pass_traits(traits, &modes, tuples, &pass);
    total = pd_add_saturated(
        total, pd_modecopy_table_bytes_at_most(&pass, request->rank, request->precision));
    if (modes.count == 1) continue;
    pd_twotree_tuple_traits(traits, &modes, tuples, &by_tuple);
    total = pd_add_saturated(
        total, pd_modecopy_table_bytes_at_most(&by_tuple, request->rank, request->precision));
    total = pd_add_saturated(total, rows_bytes(tuples, request->rank, request->precision));
    total = pd_add_saturated(total,
                             pd_ordered_scratch_bytes(tuples, request->rank, request->precision));
  }
  return total;
}

static const struct pd_walk twotree_cuda_rows = {
    .ops = PD_OPS_MTTKRP,
    .reads_halves = true, /* over nonzeros: partial rows are float */
    .workspace_bytes = twotree_cuda_workspace_bytes,
    .scratch_bytes = sizeof(struct twotree_cuda_scratch),
    .fill = twotree_cuda_fill,
    .run = twotree_cuda_run,
};

const struct polyad_kernels pd_twotree_kernels_cuda = {
    .format = "twotree",
    .device = "cuda",
    .walks = {&twotree_cuda_rows},
    .sum_depth = twotree_cuda_sum_depth,
    .kept = twotree_cuda_kept,
    .keep = twotree_cuda_keep,
    .device_bytes = twotree_cuda_device_bytes,
};
