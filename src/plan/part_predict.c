/* What a team of a given size would make of a tensor, without the team.
 *
 * The grid and its ranges come from the functions that cut tensors for teams (part_create.c), and
 * so does the owner of every row (part_owners.c): they get the whole tensor here. For a mode of
 * length I, whose ranges are shared by layers of m members, every nonzero makes the key i m + k,
 * where i is its index and k the number in the layer of the member whose cell it lies in. Sorted
 * and without repeats, the keys are the lists of rows that the members have, home by home, as they
 * come together in a real team. What a row's owner has to send follows from them.
 *
 * An iteration is as long as the longest computing and the longest sending of a member. Computing
 * goes with its nonzeros (MTTKRP) and with the rows that it owns (all else). A message takes the
 * network's latency, a byte its rate; messages of one process follow each other, which is the
 * careful assumption. Processes of one host share its processors, memory and network (part_host.h),
 * and what they send each other is copied there. */
#include "core/bits.h"
#include "core/radix_sort.h"
#include "plan/part_host.h"
#include "plan/part_making.h"
#include <math.h>
#include <polyad/scale.h>
#include <string.h>

enum { SIZE_MOST = 65536 };

void polyad_scale_options_init(polyad_scale_options *options) {
  *options = (polyad_scale_options){.rank = 16,
                                    .precision = POLYAD_F64,
                                    .bytes_per_second = 12.5e9,
                                    .latency = 5e-6,
                                    .ranks_per_host = 1,
                                    .host_latency = 1e-6};
}

/* What one member would have and do, all modes together. */
struct share {
  uint64_t nnz, rows_owned, rows_read;
  uint64_t most_lent; /* rows of a mode that others read: room for them is made */
  uint64_t sent;      /* rows in an iteration */
  double seconds;     /* of sending and getting rows in an iteration */
};

static uint64_t largest(uint64_t a, uint64_t b) { return a > b ? a : b; }

struct prediction {
  polyad_context *context;
  const polyad_tensor *tensor;
  const polyad_scale_options *options;
  struct pd_part_making making;
  struct pd_part part;
  struct share *share;             /* of every member */
  uint64_t *held, *lent;           /* rows of one mode that each reads of others, and they of it */
  uint64_t *held_near, *lent_near; /* those of them that stay on the host */
  uint32_t *cell;                  /* of every nonzero: the member that has it */
  uint64_t *keys, *load;           /* load: of the members of a layer */
  uint32_t *owner;
  uint64_t most_nnz; /* of a member */
};

static polyad_status part_predict_check(polyad_context *context,
                                        const polyad_scale_options *options, int size) {
  if (size < 1 || size > SIZE_MOST)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "%d processes; expected 1 to %d", size,
                   SIZE_MOST);
  if (options->rank < 1)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "rank 0; expected at least 1");
  if (options->precision != POLYAD_F32 && options->precision != POLYAD_F64)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "precision %d; expected POLYAD_F32 or POLYAD_F64", (int)options->precision);
  if (!(options->bytes_per_second > 0) || !(options->latency >= 0) ||
      !(options->seconds_mttkrp >= 0) || !(options->seconds_other >= 0))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "%g bytes a second, latency %g, seconds %g and %g; expected a rate above 0 and "
                   "times of at least 0",
                   options->bytes_per_second, options->latency, options->seconds_mttkrp,
                   options->seconds_other);
  return pd_host_check(context, options);
}

static polyad_status part_predict_make_room(struct prediction *p) {
  uint64_t nnz = p->tensor->nnz, size = (uint64_t)p->making.size;
  PD_TRY(pd_memory_check(p->context, pd_mul_saturated(nnz, 2 * sizeof *p->keys + 4),
                         "counting rows of other processes"));
  PD_TRY(PD_NEW_ZERO(p->context, size, &p->share));
  PD_TRY(PD_NEW(p->context, 5 * size, &p->held));
  p->lent = p->held + size;
  p->held_near = p->lent + size;
  p->lent_near = p->held_near + size;
  p->load = p->lent_near + size;
  PD_TRY(PD_NEW(p->context, nnz, &p->cell));
  PD_TRY(PD_NEW(p->context, nnz, &p->keys));
  return PD_NEW(p->context, nnz, &p->owner);
}

static void part_predict_clear(struct prediction *p) {
  pd_part_making_clear(p->context, &p->making);
  PD_FREE(p->context, p->share, p->held, p->cell, p->keys, p->owner);
}

/* ---- counting -------------------------------------------------------------------------------- */

static void part_predict_cells(struct prediction *p) {
  int threads = pd_threads_for(p->context, p->tensor->nnz, 1 << 16);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t k = 0; k < p->tensor->nnz; ++k)
    p->cell[k] = (uint32_t)pd_part_cell(&p->making, p->tensor, k);
  for (uint64_t k = 0; k < p->tensor->nnz; ++k)
    ++p->share[p->cell[k]].nnz;
  for (int k = 0; k < p->making.size; ++k)
    p->most_nnz = largest(p->most_nnz, p->share[k].nnz);
}

/* The number in its layer of a member, and the member of a number. */
static uint64_t number_of(const struct pd_part_layer *layer, int ranges, uint64_t member) {
  uint64_t inner = (uint64_t)layer->inner, outer = inner * (uint64_t)ranges;
  return member / outer * inner + member % inner;
}

static uint64_t member_of(const struct pd_part_layer *layer, int ranges, int range,
                          uint64_t number) {
  uint64_t inner = (uint64_t)layer->inner, outer = inner * (uint64_t)ranges;
  return number / inner * outer + (uint64_t)range * inner + number % inner;
}

/* Members of a range's layer that come before member `k`. */
static uint64_t layer_before(const struct pd_part_layer *layer, int ranges, int range, uint64_t k) {
  uint64_t inner = (uint64_t)layer->inner, outer = inner * (uint64_t)ranges;
  uint64_t first = (uint64_t)range * inner, rest = k % outer;
  uint64_t here = rest <= first ? 0 : rest - first < inner ? rest - first : inner;
  return k / outer * inner + here;
}

/* Keys of the rows that members have, ascending, each once. */
static polyad_status find_keys(struct prediction *p, int mode, const struct pd_part_layer *layer,
                               uint64_t *count) {
  const polyad_tensor *x = p->tensor;
  uint64_t members = (uint64_t)layer->members, most = pd_mul_saturated(x->dims[mode], members);
  int threads = pd_threads_for(p->context, x->nnz, 1 << 16), ranges = p->part.grid[mode];
  if (most == UINT64_MAX)
    return pd_fail(p->context, POLYAD_OVERFLOW,
                   "%llu rows that %d processes share; expected fewer than 2^64 / %d",
                   (unsigned long long)x->dims[mode], layer->members, layer->members);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t k = 0; k < x->nnz; ++k)
    p->keys[k] = pd_tensor_index(x, mode, k) * members + number_of(layer, ranges, p->cell[k]);
  PD_TRY(pd_sort_u64(p->context, x->nnz, p->keys, pd_bit_length(most), NULL, 0));
  *count = 0;
  for (uint64_t k = 0; k < x->nnz; ++k)
    if (k == 0 || p->keys[k] != p->keys[*count - 1]) p->keys[(*count)++] = p->keys[k];
  return POLYAD_OK;
}

/* The rows of one home, whose keys are `count` from `keys` on. */
static void count_home(struct prediction *p, int mode, int range, int home, uint64_t rows,
                       const struct pd_part_layer *layer, const uint64_t *keys, uint64_t count) {
  uint64_t members = (uint64_t)layer->members, had = 0;
  uint64_t per_host = (uint64_t)p->options->ranks_per_host;
  int ranges = p->part.grid[mode];
  pd_part_settle(p->context, keys, count, layer->members, NULL, p->load, p->owner);
  for (uint64_t j = 0; j < count; ++j) {
    uint64_t owner = member_of(layer, ranges, range, p->owner[j]);
    uint64_t reader = member_of(layer, ranges, range, keys[j] % members);
    bool first = j == 0 || keys[j] / members != keys[j - 1] / members;
    had += first;
    p->share[owner].rows_owned += first;
    if (owner == reader) continue;
    ++p->held[reader];
    ++p->lent[owner];
    if (owner / per_host != reader / per_host) continue;
    ++p->held_near[reader];
    ++p->lent_near[owner];
  }
  /* Rows that nobody has stay at their home. */
  p->share[member_of(layer, ranges, range, (uint64_t)home)].rows_owned += rows - had;
}

/* The rows that go over the network from a host, or come to it: the more of the two. */
static double far_rows(const struct prediction *p, int first, int processes) {
  double held = 0, lent = 0;
  for (int k = first; k < first + processes; ++k) {
    held += (double)(p->held[k] - p->held_near[k]);
    lent += (double)(p->lent[k] - p->lent_near[k]);
  }
  return fmax(held, lent);
}

/* Of the messages of an exchange, which every two members of a layer have and which a short gather
 * precedes, by a member on the host that begins with `first`. */
static double part_predict_latency(const struct prediction *p, int mode,
                                   const struct pd_part_layer *layer, int k, int first,
                                   int processes) {
  const polyad_scale_options *o = p->options;
  int ranges = p->part.grid[mode], range = k / layer->inner % ranges;
  uint64_t before = layer_before(layer, ranges, range, (uint64_t)first);
  uint64_t near = layer_before(layer, ranges, range, (uint64_t)(first + processes)) - before - 1;
  double far = layer->members - 1 - (double)near;
  return pd_team_rounds(p->making.size) * pd_host_farthest(o, p->making.size) + far * o->latency +
         (double)near * o->host_latency;
}

static void part_predict_add_mode(struct prediction *p, int mode,
                                  const struct pd_part_layer *layer) {
  const polyad_scale_options *o = p->options;
  double row = (double)o->rank * (double)pd_type_bytes(o->precision);
  int size = p->making.size, processes;
  bool travels = false;
  for (int k = 0; k < size; ++k) {
    struct share *share = &p->share[k];
    share->most_lent = largest(share->most_lent, p->lent[k]);
    share->rows_read += p->held[k];
    share->sent += p->held[k] + p->lent[k];
    travels |= p->held[k] > 0;
  }
  if (!travels) return; /* and nobody asks */
  for (int first = 0; first < size; first += processes) {
    processes = pd_host_processes(o, size, first);
    double far = far_rows(p, first, processes) * row / o->bytes_per_second;
    /* Partial rows go there and new ones come back: two exchanges. What stays on the host its
     * sender writes where its reader copies it from. */
    for (int k = first; k < first + processes; ++k) {
      double copied = 2 * row * (double)(p->held_near[k] + p->lent_near[k]);
      p->share[k].seconds += 2 * (far + copied / pd_host_copy_rate(o, processes) +
                                  part_predict_latency(p, mode, layer, k, first, processes));
    }
  }
}

static polyad_status count_mode(struct prediction *p, int mode) {
  struct pd_part_layer layer = pd_part_layers(&p->part, mode, p->making.size);
  const uint64_t *cut = p->making.cut[mode];
  uint64_t count = 0, begin = 0, end = 0, size = (uint64_t)p->making.size;
  if (pd_cancelled(p->context))
    return pd_fail(p->context, POLYAD_CANCELLED, "the prediction was cancelled");
  memset(p->held, 0, 4 * size * sizeof *p->held);
  PD_TRY(find_keys(p, mode, &layer, &count));
  for (int range = 0; range < p->part.grid[mode]; ++range)
    for (int home = 0; home < layer.members; ++home, begin = end) {
      uint64_t length = cut[range + 1] - cut[range];
      uint64_t first = pd_part_home(&layer, cut[range], length, home);
      uint64_t behind = pd_part_home(&layer, cut[range], length, home + 1);
      while (end < count && p->keys[end] / (uint64_t)layer.members < behind)
        ++end;
      count_home(p, mode, range, home, behind - first, &layer, p->keys + begin, end - begin);
    }
  part_predict_add_mode(p, mode, &layer);
  return POLYAD_OK;
}

/* ---- memory and time ------------------------------------------------------------------------- */

/* Every member sends as much to each other one. */
static double sum_seconds(const struct prediction *p, uint64_t count) {
  const polyad_scale_options *o = p->options;
  int size = p->making.size, processes = pd_host_processes(o, size, 0);
  struct pd_team_traffic traffic = pd_team_sum_traffic(size, count);
  double far = traffic.bytes * (size - processes) / (size - 1), near = traffic.bytes - far;
  return pd_host_farthest(o, size) * traffic.messages + processes * far / o->bytes_per_second +
         4 * near / pd_host_copy_rate(o, processes);
}

/* In the update of a mode the Gram matrix, the inner product with the tensor and the largest
 * entries meet; once an iteration two numbers more, of when to stop. */
static double sums_seconds(const struct prediction *p) {
  uint64_t rank = p->options->rank;
  double mode =
      sum_seconds(p, pd_mul_saturated(rank, rank)) + sum_seconds(p, rank) + sum_seconds(p, 1);
  return p->part.order * mode + sum_seconds(p, 2);
}

/* The most that a member has in use: while nonzeros are on their way to it (what it read, packed,
 * and what it gets), while it sorts its tensor, with what it read still there, or while it
 * computes. */
static uint64_t part_predict_memory(const struct prediction *p, const struct share *share,
                                    uint64_t bytes_format) {
  const uint64_t sorting = 24; /* of each nonzero: keys, order and their copies */
  const polyad_tensor *x = p->tensor;
  double item = (double)pd_type_bytes(p->options->precision), record = item;
  double nnz = (double)share->nnz, brought = (double)x->nnz / p->making.size, tables = 0;
  double rows = (double)(share->rows_owned + share->rows_read), rank = (double)p->options->rank;
  if (p->making.size == 1) brought = 0;
  for (int n = 0; n < x->order; ++n) {
    record += x->index_bytes[n];
    tables +=
        sizeof(double) * (double)(x->dims[n] < PD_PART_BUCKETS ? x->dims[n] : PD_PART_BUCKETS);
  }
  tables += 3 * sizeof(uint64_t) * rows; /* a row's index, its owner, its number */
  double deal = brought * (2 * record + sizeof(uint32_t)) + nnz * record;
  double make = brought * record + nnz * (record + (double)sorting);
  double run = nnz * (double)bytes_format / (double)x->nnz + 2 * rows * rank * item +
               (double)share->most_lent * rank * sizeof(double);
  return (uint64_t)(tables + fmax(run, fmax(deal, make)));
}

/* What one member would tell of itself, with bytes and seconds of one iteration. */
static polyad_team_info part_predict_describe(const struct prediction *p, int k,
                                              uint64_t bytes_format) {
  const struct share *share = &p->share[k];
  uint64_t row = pd_mul_saturated(p->options->rank, pd_type_bytes(p->options->precision));
  polyad_team_info info = {.rank = k,
                           .size = p->making.size,
                           .nnz = share->nnz,
                           .most_nnz = p->most_nnz,
                           .rows_read = share->rows_owned + share->rows_read,
                           .rows_owned = share->rows_owned,
                           .bytes_format = (uint64_t)((double)bytes_format * (double)share->nnz /
                                                      (double)p->tensor->nnz),
                           .peak_bytes = part_predict_memory(p, share, bytes_format),
                           .bytes_sent = pd_mul_saturated(share->sent, row)};
  memcpy(info.grid, p->part.grid, sizeof info.grid);
  return info;
}

static void part_predict_sum(const struct prediction *p, uint64_t bytes_format, polyad_scale *scale,
                             polyad_team_info *members) {
  const polyad_scale_options *o = p->options;
  double all_rows = 0, alone = o->seconds_mttkrp + o->seconds_other;
  double row = (double)o->rank * (double)pd_type_bytes(o->precision);
  for (int n = 0; n < p->part.order; ++n)
    all_rows += (double)p->part.dims[n];
  for (int k = 0; k < p->making.size; ++k) {
    polyad_team_info info = part_predict_describe(p, k, bytes_format);
    double compute = o->seconds_mttkrp * (double)info.nnz / (double)p->tensor->nnz +
                     o->seconds_other * (double)info.rows_owned / all_rows;
    /* At the least: nonzeros are read once, a factor's rows in the update of every mode. */
    double bytes = (double)info.bytes_format + p->part.order * row * (double)info.rows_read;
    compute = pd_host_compute(o, pd_host_processes(o, p->making.size, k), compute, bytes);
    if (p->making.size > 1 && alone > 0) info.seconds = p->share[k].seconds + sums_seconds(p);
    scale->bytes_sent = pd_add_saturated(scale->bytes_sent, info.bytes_sent);
    scale->most_nnz = info.most_nnz;
    scale->most_rows_read = largest(scale->most_rows_read, info.rows_read);
    scale->most_rows_owned = largest(scale->most_rows_owned, info.rows_owned);
    scale->most_bytes_sent = largest(scale->most_bytes_sent, info.bytes_sent);
    scale->most_bytes = largest(scale->most_bytes, info.peak_bytes);
    scale->seconds_compute = fmax(scale->seconds_compute, compute);
    scale->seconds_network = fmax(scale->seconds_network, info.seconds);
    if (members != NULL) members[k] = info;
  }
  scale->seconds = scale->seconds_compute + scale->seconds_network;
  if (alone > 0) scale->efficiency = alone / (p->making.size * scale->seconds);
}

static polyad_status estimate_format(struct prediction *p, uint64_t *bytes) {
  polyad_plan_options options;
  *bytes = p->options->bytes_format;
  if (*bytes > 0) return POLYAD_OK;
  polyad_plan_options_init(&options);
  options.rank = p->options->rank;
  options.precision = p->options->precision;
  return polyad_format_estimate_bytes(p->context, p->tensor, &options, bytes);
}

polyad_status polyad_scale_predict(polyad_context *context, const polyad_tensor *tensor,
                                   const polyad_scale_options *options, int size,
                                   polyad_scale *scale, polyad_team_info *members) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  if (tensor == NULL || scale == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "tensor or scale is NULL");
  polyad_scale_options usual;
  polyad_scale_options_init(&usual);
  if (options == NULL) options = &usual;
  struct prediction p = {.context = context, .tensor = tensor, .options = options};
  polyad_status status = POLYAD_OK;
  uint64_t bytes_format;
  *scale = (polyad_scale){.size = size};
  PD_TRY(part_predict_check(context, options, size));
  if (tensor->nnz == 0)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "the tensor has no nonzeros; expected some to share");
  p.making.size = size;
  p.making.part = &p.part;
  p.part.order = tensor->order;
  memcpy(p.part.dims, tensor->dims, sizeof p.part.dims);
  PD_TRY_CLEANUP(estimate_format(&p, &bytes_format));
  PD_TRY_CLEANUP(part_predict_make_room(&p));
  PD_TRY_CLEANUP(pd_part_cut(context, &p.making, tensor, tensor->nnz));
  memcpy(scale->grid, p.part.grid, sizeof scale->grid);
  part_predict_cells(&p);
  for (int n = 0; n < tensor->order; ++n)
    PD_TRY_CLEANUP(count_mode(&p, n));
  part_predict_sum(&p, bytes_format, scale, members);
cleanup:
  part_predict_clear(&p);
  return status;
}
