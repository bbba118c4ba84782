/* Kernels of "portable" on any device that can launch them: what is launched, pass by pass. A pass
 * takes as many columns as the largest tile that fits. */
#include "device/cpu/cpu_portable.h"
#include "formats/portable/portable_format.h"

struct scratch {
  struct pd_scratch base;
  uint64_t segment, rank;
  void *head, *tail, *weights, *pi;
  void *gains, *parts; /* of each group, and of GAIN_PARTS runs of groups; doubles */
  int pi_mode;         /* whose rows `pi` holds; -1: none */
  struct pd_versions pi_versions;
};

polyad_status pd_portable_check_device(polyad_context *context, const struct pd_device *device) {
  if (device->functions->rows != NULL && device->functions->rows_shape(device) != NULL)
    return POLYAD_OK;
  bool cpu = device == &pd_cpu_device;
  return pd_fail(context, POLYAD_UNSUPPORTED, "device %s cannot run the portable kernels%s%s",
                 device->name, cpu ? ": " : "", cpu ? pd_portable_cpu_why_not() : "");
}

/* ---- scratch memory -------------------------------------------------------------------------- */

/* Nonzeros of one group, a multiple of PD_PORTABLE_CHUNK: enough groups to fill the device several
 * times, but segments as long as that and the float sums' accuracy allow. */
static uint64_t portable_kernels_segment_of(uint64_t nnz, uint64_t groups, uint64_t most) {
  uint64_t chunks = nnz / groups / PD_PORTABLE_CHUNK + (nnz % (groups * PD_PORTABLE_CHUNK) != 0);
  uint64_t limit = most / PD_PORTABLE_CHUNK;
  if (chunks < 1) chunks = 1;
  return (chunks < limit ? chunks : limit) * PD_PORTABLE_CHUNK;
}

static uint64_t device_segment(polyad_context *context, const struct pd_device *device,
                               uint64_t nnz) {
  uint64_t groups = device->functions->rows_groups(context, device);
  bool narrow = device->functions->rows_shape(device)->groups[0] > 1;
  return portable_kernels_segment_of(nnz, groups, narrow ? 512 : UINT64_MAX / 2);
}

static uint64_t groups_of(uint64_t nnz, uint64_t segment) { return (nnz + segment - 1) / segment; }

/* The number of lists of carries is that of work groups, at most one per group of lanes. */
static uint64_t carries_of(const struct pd_rows_shape *shape, uint64_t nnz, uint64_t segment) {
  int fewest = shape->groups[0];
  for (int t = 1; t < PD_ROWS_TILES; ++t)
    if (shape->groups[t] < fewest) fewest = shape->groups[t];
  return groups_of(groups_of(nnz, segment), (uint64_t)fewest) + 1;
}

static uint64_t portable_kernels_workspace_bytes(const void *storage, const uint64_t *ranks,
                                                 int threads) {
  const uint64_t rank = ranks[0];
  (void)threads;
  const struct pd_modecopy *lists = &((const struct pd_portable *)storage)->lists;
  uint64_t row = pd_mul_saturated(rank, pd_type_bytes(lists->type));
  return pd_mul_saturated(2 * (lists->nnz / 1024 + 64), row);
}

static polyad_status portable_kernels_fill(polyad_context *context, const void *storage,
                                           const uint64_t *ranks, void *pointer) {
  const uint64_t rank = ranks[0];
  const struct pd_modecopy *lists = &((const struct pd_portable *)storage)->lists;
  struct scratch *scratch = pointer;
  const struct pd_device *device = scratch->base.device;
  if (rank > INT32_MAX / 16)
    return pd_fail(context, POLYAD_OVERFLOW, "rank %llu is too large", (unsigned long long)rank);
  scratch->rank = rank;
  scratch->pi_mode = -1;
  scratch->segment = device_segment(context, device, lists->nnz);
  uint64_t row = rank * pd_type_bytes(lists->type),
           carries =
               carries_of(device->functions->rows_shape(device), lists->nnz, scratch->segment);
  PD_TRY(pd_scratch_array(&scratch->base, carries, row, &scratch->head));
  return pd_scratch_array(&scratch->base, carries, row, &scratch->tail);
}

/* ---- launching ---------------------------------------------------------------------------------
 */

/* Bytes of a factor that the second level of a CPU's cache keeps. */
enum { PREFETCH_FROM = 1 << 19 };

/* What all passes of one call share. */
struct sweep {
  polyad_context *context;
  const struct pd_portable *portable;
  struct scratch *scratch;
  const struct pd_rows_shape *shape;
  struct pd_rows_launch launch;
  bool whole_tiles; /* all rows are aligned as whole tiles need it */
  pd_u32 gains;     /* PD_DOTS_GAINS: passes that add up dot products sum gains at last */
  uint64_t out_rows;
};

static bool aligned(const struct sweep *sweep, const struct pd_matrix *matrix) {
  return matrix->stride * pd_type_bytes(matrix->type) % (uint64_t)sweep->shape->alignment == 0;
}

static void portable_kernels_begin(struct sweep *sweep, const struct pd_call *call) {
  const int mode = call->mode;
  const struct pd_matrix *const *factors = call->factors;
  const struct pd_modecopy *lists = &sweep->portable->lists;
  const struct pd_modecopy_copy *copy = &lists->copy[mode];
  const struct pd_ordered *order = &copy->order;
  const struct scratch *scratch = sweep->scratch;
  sweep->shape = scratch->base.device->functions->rows_shape(scratch->base.device);
  sweep->whole_tiles = true;
  sweep->launch = (struct pd_rows_launch){.type = lists->type,
                                          .inputs_class = pd_rows_class(copy->inputs),
                                          .job = {.nnz = lists->nnz,
                                                  .rows = order->rows,
                                                  .segment = scratch->segment,
                                                  .inputs = (pd_u32)copy->inputs,
                                                  .rank = (pd_u32)scratch->rank,
                                                  .has_row_id = order->row_id != NULL,
                                                  .atomic = sweep->portable->atomic},
                                          .at = {.ends = order->ends,
                                                 .values = copy->values,
                                                 .row_start = order->row_start,
                                                 .row_id = order->row_id,
                                                 .chunk_row = order->chunk_row,
                                                 .used = order->used,
                                                 .head = scratch->head,
                                                 .tail = scratch->tail}};
  for (int k = 0; k < copy->inputs; ++k) {
    const struct pd_modecopy_field *field = &copy->field[k];
    const struct pd_matrix *factor = factors[field->mode];
    sweep->launch.job.shift[k] = (pd_u32)field->shift;
    sweep->launch.job.mask[k] = field->mask;
    sweep->launch.job.stride[k] = factor->stride;
    sweep->launch.at.plane[k] = copy->plane[field->plane];
    if (factor->rows * factor->stride * pd_type_bytes(factor->type) > PREFETCH_FROM)
      sweep->launch.job.prefetch |= 1u << k;
    sweep->launch.at.factor[k] = factor->data;
    sweep->whole_tiles = sweep->whole_tiles && aligned(sweep, factor);
  }
}

static void portable_kernels_set_output(struct sweep *sweep, struct pd_matrix *out) {
  sweep->launch.at.out = out->data;
  sweep->launch.job.out_stride = out->stride;
  sweep->out_rows = out->rows;
  sweep->whole_tiles =
      sweep->whole_tiles && aligned(sweep, out) &&
      out->columns * pd_type_bytes(out->type) % (uint64_t)sweep->shape->alignment == 0;
}

static polyad_status portable_kernels_launch(const struct sweep *sweep, enum pd_rows_what what,
                                             uint64_t groups) {
  const struct pd_device *device = sweep->scratch->base.device;
  struct pd_rows_launch now = sweep->launch;
  now.what = what;
  now.groups = groups;
  if (what >= PD_ROWS_DOTS) now.inputs_class = 0; /* these exist for any number of inputs only */
  return device->functions->rows(sweep->context, device, &now);
}

/* Kinds that few tiles exist for have tile 1 and the partial one. */
static bool has_tile(enum pd_rows_what what, int tile) {
  return what == PD_ROWS_SUM || what == PD_ROWS_PHI || tile == 1 || tile == PD_ROWS_PARTIAL;
}

/* The largest whole tile of at most `columns` columns, or the partial one. */
static int tile_for(const struct sweep *sweep, enum pd_rows_what what, uint64_t columns) {
  int found = PD_ROWS_PARTIAL;
  for (int t = 0; t < PD_ROWS_PARTIAL && sweep->whole_tiles; ++t)
    if (has_tile(what, t) && (uint64_t)sweep->shape->columns[sweep->launch.type][t] <= columns)
      found = t;
  return found;
}

/* One pass, and the joining of what its work groups share. Returns the columns it took. */
static polyad_status portable_kernels_pass(struct sweep *sweep, enum pd_rows_what what, int tile,
                                           uint64_t column, uint64_t *columns) {
  struct pd_rows_job *job = &sweep->launch.job;
  uint64_t groups = groups_of(job->nnz, job->segment), left = job->rank - column;
  uint64_t width = (uint64_t)sweep->shape->columns[sweep->launch.type][tile];
  *columns = width < left ? width : left;
  sweep->launch.tile = tile;
  job->column = (pd_u32)column;
  job->columns = (pd_u32)*columns;
  job->block_nonzeros = job->segment * (uint64_t)sweep->shape->groups[tile];
  job->blocks = groups_of(job->nnz, job->block_nonzeros);
  if (job->nnz == 0) return POLYAD_OK;
  PD_TRY(portable_kernels_launch(sweep, what, groups));
  bool sums = what == PD_ROWS_SUM || what == PD_ROWS_PHI || what == PD_ROWS_STORED;
  if (!sums || job->atomic || job->blocks <= 1) return POLYAD_OK;
  return portable_kernels_launch(sweep, PD_ROWS_JOIN, job->blocks * *columns);
}

static polyad_status passes(struct sweep *sweep, enum pd_rows_what what) {
  uint64_t rank = sweep->launch.job.rank, taken;
  for (uint64_t column = 0; column < rank; column += taken) {
    int tile = tile_for(sweep, what, rank - column);
    uint64_t width = (uint64_t)sweep->shape->columns[sweep->launch.type][tile];
    sweep->launch.job.dots = sweep->gains | (column == 0 ? PD_DOTS_FIRST : 0u) |
                             (column + width >= rank ? PD_DOTS_LAST : 0u);
    PD_TRY(portable_kernels_pass(sweep, what, tile, column, &taken));
  }
  return POLYAD_OK;
}

/* Rows that no kernel writes; with atomic additions, all. */
static polyad_status portable_kernels_zero_rows(struct sweep *sweep) {
  const struct pd_rows_job *job = &sweep->launch.job;
  bool all = job->atomic || job->nnz == 0;
  if (!all && sweep->launch.at.used == NULL) return POLYAD_OK;
  struct sweep zero = *sweep;
  zero.launch.job.atomic = all;
  zero.launch.rows = sweep->out_rows;
  return portable_kernels_launch(&zero, PD_ROWS_ZERO, sweep->out_rows * job->rank);
}

static polyad_status portable_kernels_mttkrp(struct sweep *sweep, const struct pd_call *call) {
  portable_kernels_begin(sweep, call);
  portable_kernels_set_output(sweep, call->out);
  PD_TRY(portable_kernels_zero_rows(sweep));
  return passes(sweep, PD_ROWS_SUM);
}

/* ---- CP-APR
 * --------------------------------------------------------------------------------------- */

/* A tile that holds every column, or -1. */
static int tile_of_all(const struct sweep *sweep, enum pd_rows_what what) {
  uint64_t rank = sweep->launch.job.rank;
  for (int t = 0; t < PD_ROWS_PARTIAL && sweep->whole_tiles; ++t)
    if (has_tile(what, t) && (uint64_t)sweep->shape->columns[sweep->launch.type][t] == rank)
      return t;
  int columns = sweep->shape->columns[sweep->launch.type][PD_ROWS_PARTIAL];
  return rank <= (uint64_t)columns ? PD_ROWS_PARTIAL : -1;
}

static polyad_status allocate_once(struct sweep *sweep, uint64_t count, size_t size,
                                   void **memory) {
  if (*memory != NULL) return POLYAD_OK;
  return pd_scratch_array(&sweep->scratch->base, count, size, memory);
}

static polyad_status allocate_weights(struct sweep *sweep) {
  return allocate_once(sweep, pd_modecopy_padded(sweep->launch.job.nnz),
                       pd_type_bytes(sweep->launch.type), &sweep->scratch->weights);
}

/* Phi is the MTTKRP of the values over the model's values. */
static polyad_status phi_in_two_steps(struct sweep *sweep, void *out, uint64_t out_stride) {
  struct pd_rows_launch *launched = &sweep->launch;
  PD_TRY(allocate_weights(sweep));
  launched->at.out = sweep->scratch->weights;
  PD_TRY(passes(sweep, PD_ROWS_DOTS));
  launched->at.values = sweep->scratch->weights;
  launched->at.out = out;
  launched->job.out_stride = out_stride;
  return passes(sweep, PD_ROWS_SUM);
}

static polyad_status portable_kernels_pi(struct sweep *shared, const struct pd_call *call) {
  struct sweep sweep = *shared;
  struct scratch *scratch = sweep.scratch;
  uint64_t numbers;
  scratch->pi_mode = -1;
  if (!sweep.portable->stores_pi) return POLYAD_OK;
  portable_kernels_begin(&sweep, call);
  if (!pd_mul(sweep.launch.job.nnz, scratch->rank, &numbers))
    return pd_fail(sweep.context, POLYAD_OVERFLOW, "Pi has too many numbers");
  PD_TRY(allocate_once(&sweep, numbers, pd_type_bytes(sweep.launch.type), &scratch->pi));
  sweep.whole_tiles =
      sweep.whole_tiles &&
      scratch->rank * pd_type_bytes(sweep.launch.type) % (uint64_t)sweep.shape->alignment == 0;
  sweep.launch.at.out = scratch->pi;
  sweep.launch.job.out_stride = scratch->rank;
  PD_TRY(passes(&sweep, PD_ROWS_PI));
  scratch->pi_mode = call->mode;
  pd_versions_set(&scratch->pi_versions, call->factors,
                  pd_modes_but(sweep.portable->lists.order, call->mode));
  return POLYAD_OK;
}

/* Whether rows of Pi are stored; they are made anew where they are of other factors, if these have
 * versions. */
static polyad_status portable_kernels_find_pi(struct sweep *sweep, const struct pd_call *call,
                                              bool *stored) {
  struct scratch *scratch = sweep->scratch;
  uint64_t others = pd_modes_but(sweep->portable->lists.order, call->mode);
  *stored = scratch->pi_mode == call->mode && pd_versions_known(call->factors, others);
  if (!*stored || pd_versions_hold(&scratch->pi_versions, call->factors, others)) return POLYAD_OK;
  return portable_kernels_pi(sweep, call);
}

/* The factor of the call's mode, which the model is made with, and the loss. */
static void portable_kernels_set_model(struct sweep *sweep, const struct pd_call *call) {
  const struct pd_matrix *b = call->factors[call->mode];
  sweep->launch.job.least = call->op.loss.least;
  sweep->launch.job.loss = (pd_u32)call->op.loss.kind;
  sweep->launch.job.b_stride = b->stride;
  sweep->launch.at.b = b->data;
  sweep->whole_tiles = sweep->whole_tiles && aligned(sweep, b);
}

static polyad_status portable_kernels_phi(struct sweep *sweep, const struct pd_call *call) {
  struct scratch *scratch = sweep->scratch;
  bool stored;
  PD_TRY(portable_kernels_find_pi(sweep, call, &stored));
  portable_kernels_begin(sweep, call);
  portable_kernels_set_output(sweep, call->out);
  portable_kernels_set_model(sweep, call);
  PD_TRY(portable_kernels_zero_rows(sweep));
  int tile = tile_of_all(sweep, stored ? PD_ROWS_STORED : PD_ROWS_PHI);
  if (tile < 0) return phi_in_two_steps(sweep, call->out->data, call->out->stride);
  if (stored) {
    sweep->launch.at.factor[0] = scratch->pi;
    sweep->launch.job.stride[0] = scratch->rank;
  }
  uint64_t taken;
  return portable_kernels_pass(sweep, stored ? PD_ROWS_STORED : PD_ROWS_PHI, tile, 0, &taken);
}

/* The sum of the gains: of each group by the kernel over rows, then of these in a fixed order. */
static polyad_status portable_kernels_gain(struct sweep *sweep, const struct pd_call *call) {
  enum { GAIN_PARTS = 128 };
  struct scratch *scratch = sweep->scratch;
  portable_kernels_begin(sweep, call);
  portable_kernels_set_model(sweep, call);
  sweep->gains = PD_DOTS_GAINS;
  struct pd_rows_launch *launched = &sweep->launch;
  const uint64_t groups = groups_of(launched->job.nnz, launched->job.segment),
                 each = (groups + GAIN_PARTS - 1) / GAIN_PARTS;
  PD_TRY(allocate_once(sweep, groups + 1, sizeof(double), &scratch->gains));
  PD_TRY(allocate_once(sweep, GAIN_PARTS, sizeof(double), &scratch->parts));
  if (tile_of_all(sweep, PD_ROWS_DOTS) < 0) PD_TRY(allocate_weights(sweep));
  launched->at.out = scratch->weights;
  launched->at.head = scratch->gains;
  PD_TRY(passes(sweep, PD_ROWS_DOTS));
  launched->rows = groups;
  launched->job.segment = each;
  launched->at.out = scratch->parts;
  const uint64_t parts = each == 0 ? 0 : groups_of(groups, each);
  if (parts > 0) PD_TRY(portable_kernels_launch(sweep, PD_ROWS_GAINS, parts));
  launched->rows = launched->job.segment = parts;
  launched->at.head = scratch->parts;
  launched->at.out = call->out->data;
  return portable_kernels_launch(sweep, PD_ROWS_GAINS, 1);
}

static polyad_status portable_kernels_run(polyad_context *context, const void *storage,
                                          void *workspace, const struct pd_call *call) {
  struct sweep sweep = {.context = context, .portable = storage, .scratch = workspace};
  if (call->op.into == PD_INTO_NONZEROS) return portable_kernels_pi(&sweep, call);
  if (call->op.into == PD_INTO_SCALAR) return portable_kernels_gain(&sweep, call);
  if (pd_op_needs_model(&call->op)) return portable_kernels_phi(&sweep, call);
  return portable_kernels_mttkrp(&sweep, call);
}

static const struct pd_walk portable_kernels_rows = {
    .ops = PD_OPS_MTTKRP | PD_OPS_PI | PD_OPS_GRADIENT | PD_OPS_GAIN,
    .workspace_bytes = portable_kernels_workspace_bytes,
    .scratch_bytes = sizeof(struct scratch),
    .fill = portable_kernels_fill,
    .run = portable_kernels_run,
};

/* The slots that all devices have. */
#define PD_PORTABLE_SLOTS(DEVICE)                                                                  \
  .format = "portable", .device = (DEVICE), .plain = true, .walks = {&portable_kernels_rows}

const struct polyad_kernels pd_portable_kernels_cpu = {PD_PORTABLE_SLOTS("cpu")};
const struct polyad_kernels pd_portable_kernels_cuda = {PD_PORTABLE_SLOTS("cuda")};
const struct polyad_kernels pd_portable_kernels_opencl = {PD_PORTABLE_SLOTS("opencl")};
