/* How many trees "csf" builds, and in which mode orders. */
#include "formats/csf/csf_layout.h"
#include "formats/rowsum/rowsum_build.h"
#include <string.h>

/* Modes from the shortest to the longest, so that the upper levels have few nodes; `root` (-1:
 * none) comes first. */
static void csf_choose_order_modes(const struct pd_traits *traits, int root, int *modes) {
  int count = 0;
  for (int n = 0; n < traits->order; ++n) {
    if (n == root) continue;
    int at = count++;
    for (; at > 0 && traits->dims[modes[at - 1]] > traits->dims[n]; --at)
      modes[at] = modes[at - 1];
    modes[at] = n;
  }
  if (root < 0) return;
  memmove(modes + 1, modes, (size_t)count * sizeof *modes);
  modes[0] = root;
}

static void one_tree(const struct pd_traits *traits, struct pd_csf_shape *shape) {
  shape->trees = 1;
  csf_choose_order_modes(traits, -1, shape->mode[0]);
}

static void add_tree(const struct pd_traits *traits, int root, struct pd_csf_shape *shape) {
  csf_choose_order_modes(traits, root, shape->mode[shape->trees++]);
}

static void all_trees(const struct pd_traits *traits, struct pd_csf_shape *shape) {
  shape->trees = 0;
  for (int n = 0; n < traits->order; ++n)
    add_tree(traits, n, shape);
}

/* What a row of a leaf costs beyond one that is near: half of what it would at random, since leaves
 * of a fiber ascend. A leaf that is written is read before. */
static double far_row(const struct pd_traits *traits, const struct pd_request *request, int leaf) {
  double row = (double)request->rank * (double)pd_type_bytes(request->precision);
  double lines = row < 64 ? 1 : row / 64;
  return 0.5 * lines *
         (pd_line_nanoseconds((double)traits->nonempty[leaf] * row) - pd_line_nanoseconds(0));
}

/* What a row that is written costs where the one before was not its neighbour: nothing where the
 * output fits into a core's own cache, else it waits for memory. Fitted on six generated tensors.
 */
static double far_write(const struct pd_traits *traits, const struct pd_request *request,
                        int mode) {
  const double NEAR_BYTES = 2e6;
  double bytes = (double)traits->nonempty[mode] * (double)request->rank *
                 (double)pd_type_bytes(request->precision);
  return bytes < NEAR_BYTES ? 0 : (1 - NEAR_BYTES / bytes) * (32 + 1.6 * (double)request->rank);
}

/* Phi takes so many times as long as MTTKRP above the leaves, and each nonzero so many nanoseconds
 * more: its model and its weight are its own, however few the fibers are. */
static const double PHI_TREE = 2.3, PHI_WEIGHT = 3;

/* Nanoseconds of one thread, fitted on an AMD EPYC (Zen 4); only their ratios matter. */
static double nanoseconds(const struct pd_traits *traits, const struct pd_request *request,
                          const struct pd_csf_shape *shape, int mode) {
  double nnz = (double)traits->nnz, rank = (double)request->rank;
  double wide = request->precision == POLYAD_F32 ? 0.5 : 1;
  double best = 0;
  for (int t = 0; t < shape->trees; ++t) {
    int level = 0, leaf = shape->mode[t][traits->order - 1];
    while (shape->mode[t][level] != mode)
      ++level;
    double fibers = (double)traits->fibers[leaf];
    double time = nnz * (0.6 + 0.06 * rank * wide) + fibers * (14 + 0.35 * rank);
    double far = far_row(traits, request, leaf);
    if (level > 0) /* a private copy per thread: set to zero, filled at random, added up */
      time += (double)traits->dims[mode] * rank * 0.8 * request->threads;
    time += nnz * far;
    double far_rows = 0;
    if (level == 0) far_rows = (double)traits->nonempty[mode];
    if (level == traits->order - 1) { /* rows of a fiber ascend */
      far_rows = fibers;
      time += nnz * far;
    }
    time += far_rows * far_write(traits, request, mode);
    if (request->kernel == POLYAD_KERNEL_PHI) time = PHI_TREE * time + nnz * PHI_WEIGHT;
    if (t == 0 || time < best) best = time;
  }
  return best;
}

double pd_csf_seconds(const struct pd_traits *traits, const struct pd_request *request,
                      const struct pd_csf_shape *shape) {
  double sum = 0;
  for (int n = 0; n < traits->order; ++n)
    sum += nanoseconds(traits, request, shape, n);
  return 1e-9 * sum / request->threads;
}

/* From one tree on, adds trees while one more root saves time. */
static void choose_trees(const struct pd_traits *traits, const struct pd_request *request,
                         struct pd_csf_shape *shape) {
  one_tree(traits, shape);
  double seconds = pd_csf_seconds(traits, request, shape);
  while (shape->trees < traits->order) {
    struct pd_csf_shape best = *shape;
    double best_seconds = seconds;
    for (int n = 0; n < traits->order; ++n) {
      struct pd_csf_shape more = *shape;
      add_tree(traits, n, &more);
      double with = pd_csf_seconds(traits, request, &more);
      if (with >= 0.98 * best_seconds) continue;
      best = more;
      best_seconds = with;
    }
    if (best.trees == shape->trees) return;
    *shape = best;
    seconds = best_seconds;
  }
}

void pd_csf_choose(const struct pd_traits *traits, const struct pd_request *request,
                   struct pd_csf_shape *shape) {
  memset(shape, 0, sizeof *shape);
  if (strcmp(request->variant, "one") == 0) {
    one_tree(traits, shape);
  } else if (strcmp(request->variant, "two") == 0) {
    one_tree(traits, shape);
    if (traits->order > 1) add_tree(traits, shape->mode[0][traits->order - 1], shape);
  } else if (strcmp(request->variant, "all") == 0) {
    all_trees(traits, shape);
  } else {
    choose_trees(traits, request, shape);
  }
}
