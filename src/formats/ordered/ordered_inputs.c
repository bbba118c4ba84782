/* In which order the input indices are sorted within an output row. */
#include "formats/ordered/ordered.h"
#include <math.h>
#include <string.h>

/* Sorted by (a, b, c), the rows of factors a and b are loaded once per run, which is a distinct
 * (a, b) of an output row, and one of c for every nonzero. Runs are counted: they are the fibers
 * along c. A row of a is the one of the run before, and near, but for every distinct a of an output
 * row: with n nonzeros spread over D prefixes, D (1 - exp(-n / D)) of them occur. */

enum { MOST_INPUTS = 5 /* of more there are too many orders to try */ };

/* Measured rates of random 128-byte rows on an H200, by table size. */
double pd_ordered_gather_cost(double table_bytes) {
  static const struct {
    double bytes, rate;
  } measured[] = {{64e3, 22.9}, {1e6, 16.3}, {4e6, 10.2}, {30e6, 9.1},
                  {60e6, 7.7},  {1e8, 6.1},  {2e8, 5.2},  {5e8, 4.5}};
  for (size_t k = 0; k < sizeof measured / sizeof *measured; ++k)
    if (table_bytes <= measured[k].bytes) return 22.9 / measured[k].rate;
  return 22.9 / 4.2;
}

static double loads(const struct pd_ordered_sizes *sizes, double prefixes) {
  double sum = 0;
  for (int c = 0; c < PD_ORDERED_SIZES; ++c) {
    if (sizes->rows[c] == 0) continue;
    double size = sizes->nonzeros[c] / sizes->rows[c];
    sum += sizes->rows[c] * prefixes * -expm1(-size / prefixes);
  }
  return sum;
}

/* What moving nonzeros costs, in units of a row that is near, as measured with 128 bytes a row.
 *
 * Into this order: those at work at a time lie together in the order of the mode before, so all
 * that share the output row and the inputs outside that mode are written from front to back. As
 * long as a GPU's cache keeps the ends of all these, its sectors are full when they leave it. If
 * not, each nonzero has one read and written.
 *
 * Into the next order: a nonzero is one write into the cache, but nonzeros that share the output
 * row and the index of the next mode go side by side, several to a sector. */
static double ordered_inputs_moving_cost(const struct pd_ordered_sizes *sizes,
                                         const struct pd_traits *traits, double row_bytes, int mode,
                                         const int *modes, int count) {
  const double ROOM = 32e6, SECTOR = 32, SCATTERED = 3, WRITE = 1.3, SHARED_WRITE = 0.6;
  double nnz = (double)traits->nnz, prefixes = 1, sum = 0;
  if (mode > 0) {
    int k = 0;
    for (; modes[k] != mode - 1; ++k)
      prefixes *= (double)traits->nonempty[modes[k]];
    double ends = loads(sizes, prefixes);
    if (k == count - 1) ends = fmin(ends, (double)traits->fibers[modes[k]]);
    sum += nnz * SCATTERED * -expm1(-ends * SECTOR / ROOM);
  }
  if (mode + 1 < traits->order) {
    double alone = nnz;
    if (modes[0] == mode + 1) alone = fmin(nnz, loads(sizes, (double)traits->nonempty[mode + 1]));
    if (modes[0] == mode + 1 && count == 2) alone = fmin(alone, (double)traits->fibers[modes[1]]);
    sum += alone * WRITE + (nnz - alone) * SHARED_WRITE;
  }
  return sum * 128 / row_bytes;
}

/* In units of a row that is near. */
static double ordered_inputs_cost(const struct pd_ordered_sizes *sizes,
                                  const struct pd_traits *traits, double row_bytes,
                                  const int *modes, int count) {
  int leaf = modes[count - 1];
  double prefixes = 1, nnz = (double)traits->nnz;
  double runs = fmin((double)traits->fibers[leaf], nnz);
  double sum = nnz * pd_ordered_gather_cost((double)traits->nonempty[leaf] * row_bytes);
  for (int k = 0; k + 1 < count; ++k) {
    double rows = (double)traits->nonempty[modes[k]];
    prefixes *= rows;
    double fresh = k == count - 2 ? runs : fmin(loads(sizes, prefixes), runs);
    sum += fresh * pd_ordered_gather_cost(rows * row_bytes) + (runs - fresh);
  }
  return sum;
}

/* What TTMc multiplies besides every nonzero's part: a row of the outermost input whenever that
 * changes within an output row (formats/ttmc/ttmc_kernels.cu). For the others any order will do. */
static double ordered_inputs_ttmc_cost(const struct pd_ordered_sizes *sizes,
                                       const struct pd_traits *traits, const int *modes) {
  return loads(sizes, (double)traits->nonempty[modes[0]]);
}

static bool next_permutation(int *items, int count) {
  int k = count - 2;
  while (k >= 0 && items[k] >= items[k + 1])
    --k;
  if (k < 0) return false;
  int other = count - 1;
  while (items[other] <= items[k])
    --other;
  int swap = items[k];
  items[k] = items[other];
  items[other] = swap;
  for (int low = k + 1, high = count - 1; low < high; ++low, --high) {
    swap = items[low];
    items[low] = items[high];
    items[high] = swap;
  }
  return true;
}

static void sort_by_length(const struct pd_traits *traits, int *modes, int count) {
  for (int k = 1; k < count; ++k) {
    int mode = modes[k], at = k;
    for (; at > 0 && traits->dims[modes[at - 1]] > traits->dims[mode]; --at)
      modes[at] = modes[at - 1];
    modes[at] = mode;
  }
}

static void ordered_inputs_classify(const struct pd_ordered_job *job,
                                    struct pd_ordered_sizes *sizes) {
  uint64_t dim = job->tensor->dims[job->mode];
  for (uint64_t i = 0; i < dim; ++i) {
    if (job->degree[i] == 0) continue;
    int c = 31 - __builtin_clz(job->degree[i]);
    sizes->rows[c] += 1;
    sizes->nonzeros[c] += job->degree[i];
  }
}

bool pd_ordered_weighs_inputs(int order) { return order - 1 <= MOST_INPUTS; }

void pd_ordered_choose_inputs(const struct pd_ordered_job *job, polyad_type type,
                              const struct pd_ordered_sizes *sizes, struct pd_ordered *order) {
  const struct pd_traits *traits = job->traits;
  int modes[POLYAD_MAX_ORDER] = {0}, *best = order->input, count = 0;
  for (int n = 0; n < traits->order; ++n)
    if (n != job->mode) modes[count++] = n;
  order->inputs = count;
  memcpy(best, modes, sizeof modes);
  order->runs = traits->nnz;
  if (count < 2) return;
  if (!pd_ordered_weighs_inputs(traits->order)) { /* short modes repeat most */
    sort_by_length(traits, best, count);
    return;
  }
  double row_bytes = (double)job->rank * (double)pd_type_bytes(type);
  double least = INFINITY;
  do {
    double now = job->kernel == POLYAD_KERNEL_TTMC
                     ? ordered_inputs_ttmc_cost(sizes, traits, modes)
                     : ordered_inputs_cost(sizes, traits, row_bytes, modes, count);
    if (job->moves)
      now += ordered_inputs_moving_cost(sizes, traits, row_bytes, job->mode, modes, count);
    if (now < least) {
      least = now;
      memcpy(best, modes, sizeof modes);
    }
  } while (next_permutation(modes, count));
  uint64_t fibers = traits->fibers[best[count - 1]];
  if (fibers < order->runs) order->runs = fibers;
}

void pd_ordered_inputs(const struct pd_ordered_job *job, struct pd_ordered *order) {
  struct pd_ordered_sizes sizes = {.rows = {0}};
  if (pd_ordered_weighs_inputs(job->traits->order)) ordered_inputs_classify(job, &sizes);
  pd_ordered_choose_inputs(job, job->tensor->type, &sizes, order);
}
