/* Building, checking and decoding trees of compressed fibers. */
#include "formats/fibers/fibers.h"
#include "core/numbers.h"
#include <string.h>

enum { GRAIN = 1 << 14 };

void pd_fibers_levels(int order, const uint64_t *dims, int root, int leaf, int *levels) {
  int count = 0;
  if (root >= 0) levels[count++] = root;
  int first = count;
  for (int n = 0; n < order; ++n) {
    if (n == root || n == leaf) continue;
    int at = count++;
    for (; at > first && dims[levels[at - 1]] > dims[n]; --at)
      levels[at] = levels[at - 1];
    levels[at] = n;
  }
  levels[count] = leaf;
}

int pd_fibers_leaf(const struct pd_traits *traits, int root) {
  int leaf = root == 0 ? 1 : 0;
  for (int n = 0; n < traits->order; ++n)
    if (n != root && traits->fibers[n] < traits->fibers[leaf]) leaf = n;
  return leaf;
}

/* ---- building ------------------------------------------------------------------------------- */

/* highest[p]: the highest level whose index differs from the nonzero before. */
static void find_highest(const polyad_context *context, const polyad_tensor *tensor,
                         const struct pd_fibers *tree, const uint32_t *permutation,
                         uint8_t *highest) {
  int threads = pd_threads_for(context, tree->nnz, GRAIN), leaf = tree->order - 1;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint32_t p = 0; p < tree->nnz; ++p) {
    int l = 0;
    while (p > 0 && l < leaf &&
           pd_tensor_index(tensor, tree->level[l], pd_nz_at(permutation, p)) ==
               pd_tensor_index(tensor, tree->level[l], pd_nz_at(permutation, p - 1)))
      ++l;
    highest[p] = (uint8_t)l;
  }
}

/* Long fibers are cut: a cut begins a node of the level of the fibers. */
static void cut_fibers(const struct pd_fibers *tree, uint32_t most, uint8_t *highest) {
  int fiber = tree->order - 2;
  uint32_t begin = 0;
  for (uint32_t p = 0; p < tree->nnz; ++p) {
    if (highest[p] > fiber && p - begin == most) highest[p] = (uint8_t)fiber;
    if (highest[p] <= fiber) begin = p;
  }
}

/* Nodes of each level that the nonzeros from `begin` up to `end` - 1 begin. */
static void fibers_count_nodes(const struct pd_fibers *tree, const uint8_t *highest, uint32_t begin,
                               uint32_t end, uint32_t *nodes) {
  for (uint32_t p = begin; p < end; ++p)
    ++nodes[highest[p]];
  for (int l = 1; l < tree->order; ++l)
    nodes[l] += nodes[l - 1];
}

/* The nodes of the same nonzeros; node[l]: how many come before them. */
static void fill_nodes(const polyad_tensor *tensor, const uint32_t *permutation,
                       const uint8_t *highest, uint32_t begin, uint32_t end, uint32_t *node,
                       struct pd_fibers *tree) {
  int leaf = tree->order - 1;
  for (uint32_t p = begin; p < end; ++p)
    for (int l = highest[p]; l <= leaf; ++l) {
      if (l < leaf) tree->start[l][node[l]] = node[l + 1];
      tree->id[l][node[l]++] =
          (uint32_t)pd_tensor_index(tensor, tree->level[l], pd_nz_at(permutation, p));
    }
}

static polyad_status make_levels(polyad_context *context, struct pd_fibers *tree) {
  for (int l = 0; l < tree->order; ++l) {
    PD_TRY(PD_NEW(context, tree->nodes[l], &tree->id[l]));
    if (l == tree->order - 1) break;
    PD_TRY(PD_NEW(context, (uint64_t)tree->nodes[l] + 1, &tree->start[l]));
    tree->start[l][tree->nodes[l]] = tree->nodes[l + 1];
  }
  return POLYAD_OK;
}

static polyad_status fill_levels(polyad_context *context, const polyad_tensor *tensor,
                                 const uint32_t *permutation, const uint8_t *highest,
                                 struct pd_fibers *tree) {
  int threads = pd_threads_for(context, tree->nnz, GRAIN);
  uint32_t(*before)[POLYAD_MAX_ORDER];
  PD_TRY(PD_NEW_ZERO(context, (uint64_t)threads, &before));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    fibers_count_nodes(tree, highest, (uint32_t)pd_part_begin(tree->nnz, t, threads),
                       (uint32_t)pd_part_begin(tree->nnz, t + 1, threads), before[t]);
  for (int t = 0; t < threads; ++t)
    for (int l = 0; l < tree->order; ++l) {
      uint32_t own = before[t][l];
      before[t][l] = tree->nodes[l];
      tree->nodes[l] += own;
    }
  polyad_status status = make_levels(context, tree);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    if (status == POLYAD_OK)
      fill_nodes(tensor, permutation, highest, (uint32_t)pd_part_begin(tree->nnz, t, threads),
                 (uint32_t)pd_part_begin(tree->nnz, t + 1, threads), before[t], tree);
  pd_free(context, before);
  PD_TRY(status);
  return pd_nz_gather_values(context, tensor, tree->nnz, permutation, &tree->values);
}

/* Whether a piece that began at `begin` ends before nonzero p, with which a slice begins or not. */
static bool piece_ends(const struct pd_fibers *tree, const uint8_t *highest, uint32_t p,
                       uint32_t begin, bool slice_begins, bool slice_is_long) {
  uint32_t length = p - begin, most = pd_fibers_piece_most(tree->nnz);
  if (slice_begins) return length >= pd_fibers_piece(tree->nnz) || slice_is_long;
  if (!slice_is_long) return false;
  return length >= most && (highest[p] <= tree->order - 2 || length >= 2 * most);
}

/* Cuts the nonzeros into pieces; only counts them where `item` is NULL. A slice of more than
 * pd_fibers_piece_most() nonzeros has pieces of its own. */
static uint32_t cut_pieces(const struct pd_fibers *tree, const uint8_t *highest, uint32_t *item,
                           uint8_t *whole) {
  uint32_t items = 0, begin = 0, p = 0;
  bool was_long = false;
  while (p < tree->nnz) {
    uint32_t end = p + 1;
    while (end < tree->nnz && highest[end] > 0)
      ++end;
    bool is_long = end - p > pd_fibers_piece_most(tree->nnz);
    for (uint32_t q = p; q < end; ++q) {
      bool ends =
          piece_ends(tree, highest, q, begin, q == p, q == p ? is_long || was_long : is_long);
      if (q > 0 && !ends) continue;
      if (item != NULL) {
        item[items] = q;
        whole[items] = !is_long;
      }
      ++items;
      begin = q;
    }
    was_long = is_long;
    p = end;
  }
  if (item != NULL) item[items] = tree->nnz;
  return items;
}

static void fill_paths(const polyad_context *context, struct pd_fibers *tree) {
  int threads = pd_threads_for(context, tree->items, 1 << 10), upper = tree->order - 1;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint32_t k = 0; k < tree->items; ++k) {
    uint64_t place = tree->item[k];
    for (int l = upper - 1; l >= 0; --l) {
      place = pd_nz_piece_of(tree->start[l], tree->nodes[l], place);
      tree->path[(uint64_t)k * (uint64_t)upper + (uint64_t)l] = (uint32_t)place;
    }
  }
}

static polyad_status build_pieces(polyad_context *context, const uint8_t *highest,
                                  struct pd_fibers *tree) {
  uint64_t upper = (uint64_t)tree->order - 1;
  tree->items = cut_pieces(tree, highest, NULL, NULL);
  PD_TRY(PD_NEW(context, (uint64_t)tree->items + 1, &tree->item));
  PD_TRY(PD_NEW(context, tree->items, &tree->whole));
  PD_TRY(PD_NEW(context, pd_mul_saturated(tree->items, upper), &tree->path));
  (void)cut_pieces(tree, highest, tree->item, tree->whole);
  fill_paths(context, tree);
  return POLYAD_OK;
}

polyad_status pd_fibers_build(polyad_context *context, const polyad_tensor *tensor,
                              const int *levels, uint32_t count, const uint32_t *permutation,
                              uint32_t fiber_most, struct pd_fibers *tree) {
  uint8_t *highest;
  *tree = (struct pd_fibers){.order = tensor->order, .nnz = count};
  memcpy(tree->level, levels, (size_t)tensor->order * sizeof *levels);
  PD_TRY(PD_NEW(context, count, &highest));
  find_highest(context, tensor, tree, permutation, highest);
  if (fiber_most > 0) cut_fibers(tree, fiber_most, highest);
  polyad_status status = fill_levels(context, tensor, permutation, highest, tree);
  if (status == POLYAD_OK) status = build_pieces(context, highest, tree);
  pd_free(context, highest);
  return status;
}

void pd_fibers_arrays(struct pd_fibers *tree, polyad_type type, enum pd_array_use use,
                      struct pd_arrays *arrays) {
  int leaf = tree->order - 1;
  for (int l = 0; l <= leaf; ++l) {
    uint64_t nodes = tree->nodes[l];
    pd_show_array(arrays, &tree->id[l], nodes, sizeof *tree->id[l], use);
    if (l < leaf) pd_show_array(arrays, &tree->start[l], nodes + 1, sizeof *tree->start[l], use);
  }
  pd_show_array(arrays, &tree->values, tree->nnz, pd_type_bytes(type), use);
  pd_show_array(arrays, &tree->item, (uint64_t)tree->items + 1, sizeof *tree->item, PD_ARRAY_MOVES);
  pd_show_array(arrays, &tree->path, (uint64_t)tree->items * (uint64_t)(leaf > 0 ? leaf : 0),
                sizeof *tree->path, PD_ARRAY_MOVES);
  pd_show_array(arrays, &tree->whole, tree->items, sizeof *tree->whole, PD_ARRAY_MOVES);
}

struct pd_fibers pd_fibers_like(const struct pd_traits *traits, const int *levels) {
  const uint32_t nnz = (uint32_t)traits->nnz;
  uint64_t most = traits->fibers[levels[traits->order - 1]], product = 1;
  struct pd_fibers like = {
      .order = traits->order, .nnz = nnz, .items = nnz / pd_fibers_piece(nnz) + 1};
  for (int l = 0; l < traits->order - 1; ++l) {
    product = pd_mul_saturated(product, traits->nonempty[levels[l]]);
    like.nodes[l] = (uint32_t)(product < most ? product : most);
  }
  like.nodes[traits->order - 1] = nnz;
  return like;
}

/* ---- checking ------------------------------------------------------------------------------- */

/* Children follow each other; their ids ascend, but for fibers that were cut. */
static polyad_status check_level(polyad_context *context, const struct pd_fibers *tree, int level,
                                 const char *format, bool cut) {
  const uint32_t *start = tree->start[level], *id = tree->id[level + 1];
  if (start[0] != 0 || start[tree->nodes[level]] != tree->nodes[level + 1])
    return pd_nz_broken(context, format, "children left over, level", (uint64_t)level);
  for (uint32_t k = 0; k < tree->nodes[level]; ++k) {
    if (start[k + 1] <= start[k] || start[k + 1] > tree->nodes[level + 1])
      return pd_nz_broken(context, format, "bad number of children, node", k);
    for (uint32_t c = start[k] + 1; c < start[k + 1]; ++c)
      if (id[c - 1] > id[c] || (id[c - 1] == id[c] && !(cut && level == tree->order - 3)))
        return pd_nz_broken(context, format, "ids not ascending, node", c);
  }
  return POLYAD_OK;
}

static polyad_status check_pieces(polyad_context *context, const struct pd_fibers *tree,
                                  const char *format) {
  if (tree->item[0] != 0 || tree->item[tree->items] != tree->nnz)
    return pd_nz_broken(context, format, "pieces do not hold all nonzeros", 0);
  for (uint32_t k = 0; k < tree->items; ++k) {
    uint32_t begin = tree->item[k], end = tree->item[k + 1];
    if (begin >= end) return pd_nz_broken(context, format, "empty piece", k);
    if (end - begin > 2 * pd_fibers_piece_most(tree->nnz))
      return pd_nz_broken(context, format, "piece too long", k);
    uint64_t place = begin;
    for (int l = tree->order - 2; l >= 0; --l) {
      place = pd_nz_piece_of(tree->start[l], tree->nodes[l], place);
      if (tree->path[(uint64_t)k * (uint64_t)(tree->order - 1) + (uint64_t)l] != place)
        return pd_nz_broken(context, format, "wrong path of piece", k);
    }
  }
  return POLYAD_OK;
}

polyad_status pd_fibers_check(polyad_context *context, const struct pd_fibers *tree,
                              const char *format, uint32_t fiber_most) {
  if (tree->nodes[tree->order - 1] != tree->nnz)
    return pd_nz_broken(context, format, "not all nonzeros", tree->nodes[tree->order - 1]);
  for (int l = 0; l < tree->order - 1; ++l)
    PD_TRY(check_level(context, tree, l, format, fiber_most > 0));
  const uint32_t *start = tree->start[tree->order - 2];
  for (uint32_t f = 0; fiber_most > 0 && f < tree->nodes[tree->order - 2]; ++f)
    if (start[f + 1] - start[f] > fiber_most)
      return pd_nz_broken(context, format, "fiber too long", f);
  return check_pieces(context, tree, format);
}

/* ---- decoding ------------------------------------------------------------------------------- */

void pd_fibers_decode(const struct pd_fibers *tree, polyad_type type, uint64_t first, int count,
                      int at, struct pd_chunk *block) {
  uint64_t node[POLYAD_MAX_ORDER], place = first;
  int leaf = tree->order - 1;
  for (int l = leaf - 1; l >= 0; --l)
    node[l] = place = pd_nz_piece_of(tree->start[l], tree->nodes[l], place);
  node[leaf] = first;
  for (int k = at; k < at + count; ++k) {
    for (int l = leaf - 1; l >= 0 && node[l + 1] >= tree->start[l][node[l] + 1]; --l)
      ++node[l];
    for (int l = 0; l <= leaf; ++l)
      block->index[tree->level[l]][k] = tree->id[l][node[l]];
    block->value[k] = pd_load(type, tree->values, node[leaf]++);
  }
}
