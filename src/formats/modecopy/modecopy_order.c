/* In which order the input indices are sorted within an output row, and how indices are packed
 * into words. */
#include "core/radix_sort.h"
#include "formats/modecopy/modecopy_layout.h"
#include <math.h>
#include <string.h>

/* ---- packing: first fit, widest field first; a field never straddles two words -------------- */

void pd_modecopy_pack(struct pd_modecopy_copy *copy, int fields, const uint64_t *dims, bool flags) {
  int used[POLYAD_MAX_ORDER + 1] = {0};
  bool placed[POLYAD_MAX_ORDER] = {false};
  copy->planes = 1;
  for (int step = 0; step < fields; ++step) {
    int widest = -1;
    for (int k = 0; k < fields; ++k)
      if (!placed[k] && (widest < 0 || pd_index_bits(dims[copy->field[k].mode]) >
                                           pd_index_bits(dims[copy->field[widest].mode])))
        widest = k;
    struct pd_modecopy_field *field = &copy->field[widest];
    int bits = pd_index_bits(dims[field->mode]), plane = 0;
    while (used[plane] + bits > (plane == 0 && flags ? 31 : 32))
      ++plane;
    field->plane = plane;
    field->shift = used[plane] == 32 ? 0 : used[plane];
    field->mask = bits == 32 ? UINT32_MAX : ((uint32_t)1 << bits) - 1;
    used[plane] += bits;
    if (plane + 1 > copy->planes) copy->planes = plane + 1;
    placed[widest] = true;
  }
}

/* ---- the order of the inputs ----------------------------------------------------------------
 * Sorted by (a, b, c), a row of factor a is loaded once per distinct a of an output row, one of b
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

void pd_modecopy_order_inputs(const struct pd_traits *traits, uint64_t rank, polyad_type type,
                              int mode, const uint32_t *row_size, struct pd_modecopy_copy *copy) {
  int modes[POLYAD_MAX_ORDER] = {0}, best[POLYAD_MAX_ORDER], count = 0;
  for (int n = 0; n < traits->order; ++n)
    if (n != mode) modes[count++] = n;
  memcpy(best, modes, sizeof best);
  if (count > 5) { /* too many orders to try: short modes repeat most */
    sort_by_length(traits, best, count);
  } else {
    struct size_class classes[SIZE_CLASSES] = {{0, 0}};
    for (uint64_t i = 0; i < traits->dims[mode]; ++i) {
      if (row_size[i] == 0) continue;
      int c = 31 - __builtin_clz(row_size[i]);
      classes[c].rows += 1;
      classes[c].nonzeros += row_size[i];
    }
    double row_bytes = (double)rank * (double)pd_type_bytes(type), least = INFINITY;
    do {
      double now = cost(classes, traits, row_bytes, modes, count);
      if (now < least) {
        least = now;
        memcpy(best, modes, sizeof best);
      }
    } while (next_permutation(modes, count));
  }
  copy->inputs = count;
  for (int k = 0; k < count; ++k)
    copy->field[k].mode = best[k];
}

polyad_status pd_modecopy_deal(polyad_context *context, uint64_t dim, const uint32_t *degree,
                               int partitions, uint32_t *part) {
  polyad_status status = POLYAD_OK;
  uint64_t *keys = NULL;
  uint32_t *index = NULL;
  PD_TRY_CLEANUP(PD_NEW(context, dim, &keys));
  PD_TRY_CLEANUP(PD_NEW(context, dim, &index));
  for (uint64_t i = 0; i < dim; ++i) {
    keys[i] = UINT32_MAX - degree[i];
    index[i] = (uint32_t)i;
  }
  PD_TRY_CLEANUP(pd_sort_u64(context, dim, keys, 32, index, sizeof *index));
  for (uint64_t k = 0; k < dim; ++k)
    part[index[k]] = (uint32_t)(k % (uint64_t)partitions);
cleanup:
  pd_free(context, keys);
  pd_free(context, index);
  return status;
}
