/* Projects a sparse tensor onto a basis of each mode, from the leaves of the tree of its nonzeros
 * to the roots. A root with many nonzeros is cut into parts between its children, since a short
 * mode has few roots. The sums of a few parts (a batch) are formed by one thread each; then all
 * threads add the batch to the core, each to a range of its columns, so that the order of additions
 * does not depend on their number. */
#include "algorithms/core_project.h"
#include "core/radix_sort.h"
#include <omp.h>
#include <string.h>

/* Parts whose sums have LEAST_CELLS numbers are a batch even where the core is smaller. A part ends
 * at the first child after PART places. */
enum { BATCH = 64, TILE = 512, LEAST_CELLS = 1 << 17, PART = 1 << 14 };

/* ---- the tree ------------------------------------------------------------------------------- */

static uint64_t core_project_index_at(const struct pd_tree *tree, int level, uint64_t place) {
  return pd_tensor_index(tree->tensor, tree->mode[level], tree->place[place]);
}

/* The first level at which a place differs from the one before it. */
static uint8_t differs_at(const struct pd_tree *tree, uint64_t at) {
  int level = 0;
  while (at > 0 && level < tree->order &&
         core_project_index_at(tree, level, at) == core_project_index_at(tree, level, at - 1))
    ++level;
  return (uint8_t)level;
}

/* Whether a part begins at a place, and the one before has begun at `last`. */
static bool begins_part(const struct pd_tree *tree, uint64_t at, uint64_t last) {
  return tree->level[at] == 0 || (tree->level[at] == 1 && at - last >= PART);
}

static polyad_status core_project_cut(struct pd_tree *tree) {
  uint64_t nnz = tree->tensor->nnz, last = 0, parts = 0;
  PD_TRY(PD_NEW(tree->context, tree->nodes[1] + nnz / PART + 1, &tree->part));
  for (uint64_t at = 0; at < nnz; ++at)
    if (begins_part(tree, at, last)) tree->part[parts++] = last = at;
  tree->part[parts] = nnz;
  tree->parts = parts;
  return POLYAD_OK;
}

static polyad_status core_project_find_levels(struct pd_tree *tree) {
  uint64_t nnz = tree->tensor->nnz, starts[POLYAD_MAX_ORDER + 1] = {0};
  int threads = pd_threads_for(tree->context, nnz, 1 << 14);
  PD_TRY(PD_NEW(tree->context, nnz, &tree->level));
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : starts)
  for (uint64_t at = 0; at < nnz; ++at)
    ++starts[tree->level[at] = differs_at(tree, at)];
  tree->nodes[0] = 1;
  for (int l = 0; l < tree->order; ++l)
    tree->nodes[l + 1] = (l > 0 ? tree->nodes[l] : 0) + starts[l];
  return core_project_cut(tree);
}

/* Values and indices of the leaves in the tree's order, which every projection reads in turn. */
static polyad_status core_project_gather(struct pd_tree *tree) {
  const polyad_tensor *tensor = tree->tensor;
  int mode = tree->mode[tree->order - 1], bytes = tensor->index_bytes[mode];
  int threads = pd_threads_for(tree->context, tensor->nnz, 1 << 14);
  PD_TRY(PD_NEW(tree->context, tensor->nnz, &tree->value));
  PD_TRY(pd_alloc(tree->context, tensor->nnz, (size_t)bytes, &tree->leaf));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t at = 0; at < tensor->nnz; ++at) {
    tree->value[at] = pd_tensor_value(tensor, tree->place[at]);
    pd_id_put(tree->leaf, bytes, at, pd_tensor_index(tensor, mode, tree->place[at]));
  }
  return POLYAD_OK;
}

static void core_project_order_modes(struct pd_tree *tree) {
  const uint64_t *dims = tree->tensor->dims;
  for (int n = 0; n < tree->order; ++n) {
    int at = n;
    for (; at > 0 && dims[tree->mode[at - 1]] > dims[n]; --at)
      tree->mode[at] = tree->mode[at - 1];
    tree->mode[at] = n;
  }
}

polyad_status pd_tree_create(polyad_context *context, const polyad_tensor *tensor,
                             struct pd_tree *tree) {
  polyad_status status = POLYAD_OK;
  struct pd_key keys[POLYAD_MAX_ORDER];
  *tree = (struct pd_tree){.context = context, .tensor = tensor, .order = tensor->order};
  core_project_order_modes(tree);
  for (int l = 0; l < tree->order; ++l) {
    int n = tree->mode[l];
    keys[l] = (struct pd_key){tensor->index[n], tensor->index_bytes[n], tensor->dims[n]};
  }
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &tree->place));
  PD_TRY_CLEANUP(pd_sort_permutation(context, tensor->nnz, tree->order, keys, 8, tree->place));
  PD_TRY_CLEANUP(core_project_find_levels(tree));
  status = core_project_gather(tree);
cleanup:
  if (status != POLYAD_OK) pd_tree_clear(tree);
  return status;
}

void pd_tree_clear(struct pd_tree *tree) {
  if (tree->context == NULL) return;
  PD_FREE(tree->context, tree->place, tree->level, tree->part, tree->leaf, tree->value);
  *tree = (struct pd_tree){0};
}

double pd_project_work(const struct pd_tree *tree, const uint64_t *columns) {
  double work = 0, size = 1;
  for (int l = tree->order; l > 0; --l) {
    size *= (double)columns[l - 1];
    work += 2 * (double)tree->nodes[l] * size;
  }
  return work;
}

/* ---- projection ----------------------------------------------------------------------------- */

struct projection {
  struct pd_stage *stage;
  const struct pd_tree *tree;
  const struct pd_bases *bases;
  uint64_t size[POLYAD_MAX_ORDER + 1]; /* size[l]: product of the columns from level l on */
  int threads, batch;
  double *roots;                  /* batch x size[1]: the sums below each part */
  double *path[POLYAD_MAX_ORDER]; /* of levels 2 and more: threads x size[l] */
};

static const double *core_project_row_of(const struct projection *p, int level, uint64_t place) {
  return p->bases->basis[level] +
         core_project_index_at(p->tree, level, place) * p->bases->stride[level];
}

/* to += row (x) from, and from = 0. */
static void core_project_flush(const double *restrict row, uint64_t columns, uint64_t size,
                               double *restrict from, double *restrict to) {
  for (uint64_t k = 0; k < columns; ++k)
    for (uint64_t j = 0; j < size; ++j)
      to[k * size + j] += row[k] * from[j];
  memset(from, 0, size * sizeof *from);
}

/* The row of a leaf. */
static const double *leaf_row(const struct projection *p, uint64_t place) {
  const struct pd_tree *tree = p->tree;
  int leaf = tree->order - 1, bytes = tree->tensor->index_bytes[tree->mode[leaf]];
  return p->bases->basis[leaf] + pd_id_at(tree->leaf, bytes, place) * p->bases->stride[leaf];
}

static void add_leaf_row(const double *restrict row, double value, uint64_t columns,
                         double *restrict sum) {
  for (uint64_t k = 0; k < columns; ++k)
    sum[k] += value * row[k];
}

/* The sums below one part; sum[l] is the path's at level l, sum[1] the result. */
static void sum_part(const struct projection *p, uint64_t part, double *const *sum) {
  const struct pd_tree *tree = p->tree;
  int leaf = tree->order - 1;
  uint64_t end = tree->part[part + 1];
  for (uint64_t at = tree->part[part]; at < end; ++at) {
    if (leaf == 0)
      sum[1][0] += tree->value[at];
    else
      add_leaf_row(leaf_row(p, at), tree->value[at], p->bases->columns[leaf], sum[leaf]);
    int level = at + 1 < end ? tree->level[at + 1] : 0;
    for (int l = leaf; l > 1 && l > level; --l)
      core_project_flush(core_project_row_of(p, l - 1, at), p->bases->columns[l - 1], p->size[l],
                         sum[l], sum[l - 1]);
    if (level <= 1 && pd_cancelled(p->stage->context)) return;
  }
}

static void sum_batch(const struct projection *p, uint64_t first, int count) {
#pragma omp parallel for num_threads(p->threads) schedule(dynamic, 1)
  for (int b = 0; b < count; ++b) {
    double *sum[POLYAD_MAX_ORDER + 1];
    for (int l = 2; l < p->tree->order; ++l)
      sum[l] = p->path[l] + (uint64_t)omp_get_thread_num() * p->size[l];
    sum[1] = p->roots + (uint64_t)b * p->size[1];
    memset(sum[1], 0, p->size[1] * sizeof *sum[1]);
    sum_part(p, first + (uint64_t)b, sum);
  }
}

/* core += the batch's rows of the first basis (x) its sums, a tile of columns at a time. */
static void add_batch(const struct projection *p, uint64_t first, int count, double *core) {
  uint64_t size = p->size[1], tiles = (size + TILE - 1) / TILE;
#pragma omp parallel for num_threads(p->threads) schedule(static)
  for (uint64_t tile = 0; tile < tiles; ++tile) {
    uint64_t begin = tile * TILE, end = size - begin < TILE ? size : begin + TILE;
    for (uint64_t k = 0; k < p->bases->columns[0]; ++k)
      for (int b = 0; b < count; ++b) {
        double by = core_project_row_of(p, 0, p->tree->part[first + (uint64_t)b])[k];
        const double *restrict from = p->roots + (uint64_t)b * size;
        double *restrict to = core + k * size;
        for (uint64_t j = begin; j < end; ++j)
          to[j] += by * from[j];
      }
  }
}

static polyad_status core_project_make(struct projection *p) {
  polyad_context *context = p->stage->context;
  int order = p->tree->order;
  p->size[order] = 1;
  for (int l = order; l > 0; --l)
    p->size[l - 1] = p->size[l] * p->bases->columns[l - 1];
  uint64_t batch = LEAST_CELLS / p->size[1];
  if (batch < p->bases->columns[0]) batch = p->bases->columns[0];
  if (batch > p->tree->parts) batch = p->tree->parts;
  p->batch = batch < BATCH ? (int)batch : BATCH;
  double work = pd_project_work(p->tree, p->bases->columns);
  p->threads = pd_threads_for(context, work < 1e18 ? (uint64_t)work : UINT64_MAX, 1 << 16);
  if (p->threads > p->batch) p->threads = p->batch;
  for (int l = 2; l < order; ++l)
    PD_TRY(PD_NEW_ZERO(context, pd_mul_saturated((uint64_t)p->threads, p->size[l]), &p->path[l]));
  return PD_NEW(context, pd_mul_saturated((uint64_t)p->batch, p->size[1]), &p->roots);
}

polyad_status pd_project(struct pd_stage *stage, const struct pd_tree *tree,
                         const struct pd_bases *bases, double *core) {
  struct projection p = {.stage = stage, .tree = tree, .bases = bases};
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(core_project_make(&p));
  memset(core, 0, p.size[0] * sizeof *core);
  for (uint64_t first = 0; first < tree->parts; first += (uint64_t)p.batch) {
    uint64_t left = tree->parts - first;
    int count = left < (uint64_t)p.batch ? (int)left : p.batch;
    PD_TRY_CLEANUP(pd_stage_tick(stage));
    sum_batch(&p, first, count);
    add_batch(&p, first, count, core);
  }
  PD_TRY_CLEANUP(pd_stage_tick(stage));
cleanup:
  pd_free(stage->context, p.roots);
  for (int l = 2; l < tree->order; ++l)
    pd_free(stage->context, p.path[l]);
  return status;
}
