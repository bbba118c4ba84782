/* In which order the input indices are sorted within an output row. */
#include "formats/ordered/ordered.h"
#include <math.h>
#include <string.h>

/* Sorted by (a, b, c), a row of factor a is loaded once per distinct a of an output row, one of b
 * once per distinct (a, b), one of c for every nonzero. With n nonzeros spread over D prefixes,
 * D (1 - exp(-n / D)) of them occur. */

enum { SIZE_CLASSES = 64 };

/* Seconds per byte relative to a table that fits into the first level of cache: measured rates of
 * random 128-byte rows on an H200, by table size. */
static double gather_cost(double table_bytes) {
  static const struct {
    double bytes, rate;
  } measured[] = {{64e3, 22.9}, {1e6, 16.3}, {4e6, 10.2}, {30e6, 9.1},
                  {60e6, 7.7},  {1e8, 6.1},  {2e8, 5.2},  {5e8, 4.5}};
  for (size_t k = 0; k < sizeof measured / sizeof *measured; ++k)
    if (table_bytes <= measured[k].bytes) return 22.9 / measured[k].rate;
  return 22.9 / 4.2;
}

/* Rows with as many nonzeros, in classes of powers of two. */
struct size_class {
  double rows, nonzeros;
};

static double loads(const struct size_class *classes, double prefixes) {
  double sum = 0;
  for (int c = 0; c < SIZE_CLASSES; ++c) {
    if (classes[c].rows == 0) continue;
    double size = classes[c].nonzeros / classes[c].rows;
    sum += classes[c].rows * prefixes * -expm1(-size / prefixes);
  }
  return sum;
}

static double cost(const struct size_class *classes, const struct pd_traits *traits,
                   double row_bytes, const int *modes, int count) {
  double prefixes = 1, sum = 0;
  for (int k = 0; k < count; ++k) {
    double dim = (double)traits->dims[modes[k]];
    prefixes *= dim;
    double rows = k == count - 1 ? (double)traits->nnz : loads(classes, prefixes);
    sum += rows * gather_cost(dim * row_bytes);
  }
  return sum;
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

/* Classes of rows by size: powers of two. */
static void classify(const struct pd_ordered_job *job, struct size_class *classes) {
  uint64_t dim = job->tensor->dims[job->mode];
  for (uint64_t i = 0; i < dim; ++i) {
    if (job->degree[i] == 0) continue;
    int c = 31 - __builtin_clz(job->degree[i]);
    classes[c].rows += 1;
    classes[c].nonzeros += job->degree[i];
  }
}

void pd_ordered_inputs(const struct pd_ordered_job *job, struct pd_ordered *order) {
  const struct pd_traits *traits = job->traits;
  int modes[POLYAD_MAX_ORDER] = {0}, *best = order->input, count = 0;
  for (int n = 0; n < traits->order; ++n)
    if (n != job->mode) modes[count++] = n;
  order->inputs = count;
  memcpy(best, modes, sizeof modes);
  if (count > 5) { /* too many orders to try: short modes repeat most */
    sort_by_length(traits, best, count);
    return;
  }
  struct size_class classes[SIZE_CLASSES] = {{0, 0}};
  classify(job, classes);
  double row_bytes = (double)job->rank * (double)pd_type_bytes(job->tensor->type);
  double least = INFINITY;
  do {
    double now = cost(classes, traits, row_bytes, modes, count);
    if (now < least) {
      least = now;
      memcpy(best, modes, sizeof modes);
    }
  } while (next_permutation(modes, count));
}
