/* What a side costs, by the model of the CPU's caches that the lists' order is chosen by, or by the
 * measured rates at which a GPU gathers rows. */
#include "formats/modecopy/modecopy_pairs.h"
#include "formats/twotree/twotree_cut.h"
#include <math.h>
#include <string.h>

bool pd_twotree_on_gpu(const struct pd_request *request) {
  return request->device != NULL && strcmp(request->device->kind, "cpu") != 0;
}

uint64_t pd_twotree_at_most(uint64_t count, uint64_t nnz) {
  uint64_t more = pd_add_saturated(count, count / 16 + 64);
  return more < nnz ? more : nnz;
}

uint64_t pd_twotree_tuples_at_most(const struct pd_traits *traits,
                                   const struct pd_twotree_modes *modes) {
  return pd_twotree_at_most(pd_twotree_tuples(traits, modes), traits->nnz);
}

/* A partial row that is written: its cache lines leave for the memory, or stay nearby. */
static const double LINE_WRITTEN = 1.5;

uint64_t pd_twotree_tuples(const struct pd_traits *traits, const struct pd_twotree_modes *modes) {
  uint64_t bound = 1, counted = 0;
  int last = modes->others > 0 ? modes->other[0] : 0;
  if (modes->count == 1) return traits->nonempty[modes->mode[0]];
  for (int k = 0; k < modes->count; ++k)
    bound = pd_mul_saturated(bound, traits->nonempty[modes->mode[k]]);
  counted =
      modes->others == 1 ? traits->fibers[last] : traits->tuples[modes->mode[0]][modes->count];
  if (bound > traits->nnz) bound = traits->nnz;
  return counted > 0 && counted < bound ? counted : bound;
}

void pd_twotree_pass_traits(const struct pd_traits *traits, const struct pd_twotree_modes *modes,
                            uint64_t tuples, struct pd_traits *pass) {
  *pass = (struct pd_traits){.order = 1 + modes->others, .nnz = traits->nnz};
  pass->dims[0] = pass->nonempty[0] = tuples;
  for (int k = 0; k < modes->others; ++k) {
    pass->dims[1 + k] = traits->dims[modes->other[k]];
    pass->nonempty[1 + k] = traits->nonempty[modes->other[k]];
    pass->fibers[1 + k] = traits->fibers[modes->other[k]];
  }
}

void pd_twotree_tuple_traits(const struct pd_traits *traits, const struct pd_twotree_modes *modes,
                             uint64_t count, struct pd_traits *tuples) {
  *tuples = (struct pd_traits){.order = 1 + modes->count, .nnz = count};
  for (int k = 0; k <= modes->count; ++k) {
    tuples->dims[k] = k == 0 ? count : traits->dims[modes->mode[k - 1]];
    tuples->nonempty[k] = k == 0 ? count : traits->nonempty[modes->mode[k - 1]];
    tuples->fibers[k] = count;
  }
}

void pd_twotree_pass_tiling(const struct pd_traits *traits, const struct pd_request *request,
                            const struct pd_twotree_modes *modes, struct pd_tiling *tiling) {
  struct pd_traits pass;
  if (modes->count == 1) {
    pd_tiling_choose(traits, request, modes->mode[0], true, tiling);
    return;
  }
  pd_twotree_pass_traits(traits, modes, pd_twotree_tuples(traits, modes), &pass);
  pd_tiling_choose(&pass, request, 0, true, tiling);
}

void pd_twotree_list_tiling(const struct pd_traits *traits, const struct pd_twotree_modes *modes,
                            int which, struct pd_tiling *tiling) {
  *tiling = (struct pd_tiling){.runs = traits->nonempty[modes->mode[which]]};
  for (int k = 0; k <= modes->count; ++k) {
    if (k == which + 1) continue;
    tiling->shift[tiling->columns] = 64;
    tiling->mode[tiling->columns++] = k;
  }
}

/* ---- the CPU ----------------------------------------------------------------------------------
 */

/* A pass of Phi takes so many times as long as one of MTTKRP: the model's inner products come
 * first.
 */
static const double PHI_PASS = 2.1;

/* Phi's partial rows rest on the output's own factor too: no pass serves a second mode, and before
 * each one they hold the products of the side's rows. */
static double cost_on_cpu(const struct pd_traits *traits, const struct pd_request *request,
                          const struct pd_twotree_modes *modes) {
  struct pd_tiling tiling;
  struct pd_traits tuples;
  double row = (double)request->rank * (double)pd_type_bytes(request->precision), cost;
  bool phi = request->kernel == POLYAD_KERNEL_PHI;
  pd_twotree_pass_tiling(traits, request, modes, &tiling);
  cost = tiling.nanoseconds * (phi ? PHI_PASS * modes->count : 1);
  if (modes->count == 1) return cost;
  pd_twotree_tuple_traits(traits, modes, pd_twotree_tuples(traits, modes), &tuples);
  cost +=
      (double)tuples.nnz * (row < 64 ? 1 : row / 64) * LINE_WRITTEN * (phi ? 2 * modes->count : 1);
  for (int k = 0; k < modes->count; ++k) {
    pd_tiling_choose(&tuples, request, 1 + k, false, &tiling);
    cost += tiling.nanoseconds;
  }
  return cost;
}

/* ---- a GPU ------------------------------------------------------------------------------------
 *
 * Nanoseconds on an H200, whose ratios matter. A pass reads every nonzero, and gathers rows. */

static const double NEAR_RATE = 22.9e3, PASS_START = 15e3, RECORD_BYTES = 12;
static const double MEMORY_RATE = 4.5e3, CACHE_RATE = 9e3, CACHE_BYTES = 40e6; /* bytes per ns */

/* What rows cost when `leaf` is the innermost input, and `high` and `low` are gathered from a table
 * of `table` rows instead (0: they are not): see formats/modecopy/modecopy_pairs.h. */
static double rows_on_gpu(const struct pd_traits *traits, double row, int mode, int leaf, int high,
                          int low, uint64_t table) {
  struct pd_modecopy_gather gather = {.nnz = (double)traits->nnz, .row_bytes = row, .table = table};
  bool innermost = table > 0 && (leaf == high || leaf == low);
  if (table > 0 && !innermost) gather.rows[gather.inputs++] = (double)table;
  for (int n = 0; n < traits->order; ++n)
    if (n != mode && n != leaf && (table == 0 || (n != high && n != low)))
      gather.rows[gather.inputs++] = (double)traits->nonempty[n];
  if (gather.inputs > 0 || table == 0)
    gather.runs = fmin((double)traits->nnz, (double)traits->fibers[leaf]);
  gather.rows[gather.inputs++] = innermost ? (double)table : (double)traits->nonempty[leaf];
  return row / NEAR_RATE * pd_modecopy_gather_cost(&gather);
}

/* Sum of the rows of `mode`, leaf and table being those that cost least. */
static double pass_on_gpu(const struct pd_traits *traits, double row, int mode) {
  double nnz = (double)traits->nnz, rows = (double)traits->nonempty[mode], least = INFINITY;
  double written = rows * row / (rows * row < CACHE_BYTES ? CACHE_RATE : MEMORY_RATE);
  for (int leaf = 0; leaf < traits->order; ++leaf) {
    if (leaf == mode) continue;
    least = fmin(least, rows_on_gpu(traits, row, mode, leaf, 0, 0, 0));
    for (int high = 0; high < traits->order; ++high)
      for (int low = 0; low < traits->order; ++low) {
        if (high == low || high == mode || low == mode) continue;
        uint64_t table = pd_modecopy_table_rows(traits->nnz, (uint64_t)row, traits->dims[high],
                                                traits->dims[low]);
        if (table > 0) least = fmin(least, rows_on_gpu(traits, row, mode, leaf, high, low, table));
      }
  }
  return PASS_START + nnz * RECORD_BYTES / MEMORY_RATE + least + written;
}

static double cost_on_gpu(const struct pd_traits *traits, const struct pd_request *request,
                          const struct pd_twotree_modes *modes) {
  double row = (double)request->rank * (double)pd_type_bytes(request->precision), cost;
  uint64_t count = pd_twotree_tuples(traits, modes);
  struct pd_traits pass, tuples;
  if (row < 32) row = 32; /* memory is read by so many bytes */
  if (modes->count == 1) return pass_on_gpu(traits, row, modes->mode[0]);
  pd_twotree_pass_traits(traits, modes, count, &pass);
  pd_twotree_tuple_traits(traits, modes, count, &tuples);
  cost = pass_on_gpu(&pass, row, 0);
  for (int k = 0; k < modes->count; ++k)
    cost += pass_on_gpu(&tuples, row, 1 + k);
  return cost;
}

double pd_twotree_side_cost(const struct pd_traits *traits, const struct pd_request *request,
                            const struct pd_twotree_modes *modes) {
  return pd_twotree_on_gpu(request) ? cost_on_gpu(traits, request, modes)
                                    : cost_on_cpu(traits, request, modes);
}
