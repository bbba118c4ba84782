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

void pd_ordered_choose_inputs(const struct pd_traits *traits, polyad_type type, uint64_t rank,
                              polyad_kernel kernel, int mode, const struct pd_ordered_sizes *sizes,
                              struct pd_ordered *order) {
  int modes[POLYAD_MAX_ORDER] = {0}, *best = order->input, count = 0;
  for (int n = 0; n < traits->order; ++n)
    if (n != mode) modes[count++] = n;
  order->inputs = count;
  memcpy(best, modes, sizeof modes);
  order->runs = traits->nnz;
  if (count < 2) return;
  if (!pd_ordered_weighs_inputs(traits->order)) { /* short modes repeat most */
    sort_by_length(traits, best, count);
    return;
  }
  double row_bytes = (double)rank * (double)pd_type_bytes(type);
  double least = INFINITY;
  do {
    double now = kernel == POLYAD_KERNEL_TTMC
                     ? ordered_inputs_ttmc_cost(sizes, traits, modes)
                     : ordered_inputs_cost(sizes, traits, row_bytes, modes, count);
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
  pd_ordered_choose_inputs(job->traits, job->tensor->type, job->rank, job->kernel, job->mode,
                           &sizes, order);
}
