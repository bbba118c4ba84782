/* Building, checking and freeing one tree of "csf". */
#include "core/radix_sort.h"
#include "formats/csf/csf_layout.h"
#include "formats/rowsum/driver.h"
#include "formats/rowsum/rowsum_build.h"

static int permutation_bytes(uint64_t nnz) { return nnz <= UINT32_MAX ? 4 : 8; }

static void put(void *array, int bytes, uint64_t place, uint64_t number) {
  if (bytes == 2)
    ((uint16_t *)array)[place] = (uint16_t)number;
  else if (bytes == 4)
    ((uint32_t *)array)[place] = (uint32_t)number;
  else
    ((uint64_t *)array)[place] = number;
}

/* highest[p]: the highest level whose index differs between nonzero p - 1 and p in the order of
 * the permutation. A node of level l begins wherever highest[p] <= l. */
static void find_highest(const polyad_context *context, const polyad_tensor *tensor,
                         const int *modes, const void *permutation, uint8_t *highest) {
  int bytes = permutation_bytes(tensor->nnz), order = tensor->order;
  int threads = pd_threads_for(context, tensor->nnz, 1 << 14);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    int l = 0;
    if (p > 0) {
      uint64_t here = pd_id_at(permutation, bytes, p), before = pd_id_at(permutation, bytes, p - 1);
      while (l < order - 1 &&
             pd_tensor_index(tensor, modes[l], here) == pd_tensor_index(tensor, modes[l], before))
        ++l;
    }
    highest[p] = (uint8_t)l;
  }
}

/* Ids of one level, and where its nodes begin in the level below. */
static void fill_level(const polyad_tensor *tensor, const void *permutation, const uint8_t *highest,
                       int level, struct pd_csf_tree *tree) {
  int bytes = permutation_bytes(tensor->nnz);
  uint64_t node = 0, child = 0;
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    if (highest[p] <= level) {
      uint64_t q = pd_id_at(permutation, bytes, p);
      if (tree->start[level] != NULL) put(tree->start[level], tree->start_bytes, node, child);
      put(tree->id[level], tree->id_bytes[level], node++,
          pd_tensor_index(tensor, tree->mode[level], q));
    }
    child += highest[p] <= level + 1;
  }
  if (tree->start[level] != NULL) put(tree->start[level], tree->start_bytes, node, child);
}

static polyad_status allocate_levels(polyad_context *context, const polyad_tensor *tensor,
                                     bool force_index64, struct pd_csf_tree *tree) {
  for (int l = 0; l < tensor->order; ++l) {
    tree->id_bytes[l] = pd_rowsum_index_bytes(tensor->dims[tree->mode[l]], force_index64);
    PD_TRY(pd_alloc(context, tree->nodes[l], (size_t)tree->id_bytes[l], &tree->id[l]));
    if (l < tensor->order - 1)
      PD_TRY(pd_alloc(context, tree->nodes[l] + 1, (size_t)tree->start_bytes, &tree->start[l]));
  }
  return pd_alloc(context, tensor->nnz, pd_type_bytes(tensor->type), &tree->values);
}

static polyad_status sort_nonzeros(polyad_context *context, const polyad_tensor *tensor,
                                   const int *modes, void *permutation) {
  struct pd_key keys[POLYAD_MAX_ORDER];
  for (int l = 0; l < tensor->order; ++l)
    keys[l] = (struct pd_key){tensor->index[modes[l]], tensor->index_bytes[modes[l]],
                              tensor->dims[modes[l]]};
  return pd_sort_permutation(context, tensor->nnz, tensor->order, keys,
                             permutation_bytes(tensor->nnz), permutation);
}

polyad_status pd_csf_tree_build(polyad_context *context, const polyad_tensor *tensor,
                                bool force_index64, const int *modes, struct pd_csf_tree *tree) {
  polyad_status status = POLYAD_OK;
  void *permutation = NULL;
  uint8_t *highest = NULL;
  int perm_bytes = permutation_bytes(tensor->nnz);
  *tree = (struct pd_csf_tree){.start_bytes = tensor->nnz < UINT32_MAX && !force_index64 ? 4 : 8};
  for (int l = 0; l < tensor->order; ++l)
    tree->mode[l] = modes[l];
  PD_TRY_CLEANUP(pd_alloc(context, tensor->nnz, (size_t)perm_bytes, &permutation));
  PD_TRY_CLEANUP(sort_nonzeros(context, tensor, modes, permutation));
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &highest));
  find_highest(context, tensor, modes, permutation, highest);
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    ++tree->nodes[highest[p]];
  for (int l = 1; l < tensor->order; ++l)
    tree->nodes[l] += tree->nodes[l - 1];
  PD_TRY_CLEANUP(allocate_levels(context, tensor, force_index64, tree));
  int threads = pd_threads_for(context, tensor->nnz, 1 << 14);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int l = 0; l < tensor->order; ++l)
    fill_level(tensor, permutation, highest, l, tree);
  pd_gather(context, tensor->nnz, permutation, perm_bytes, tensor->values,
            pd_type_bytes(tensor->type), tree->values);
cleanup:
  pd_free(context, highest);
  pd_free(context, permutation);
  if (status != POLYAD_OK) pd_csf_tree_clear(context, tensor->order, tree);
  return status;
}

void pd_csf_tree_clear(polyad_context *context, int order, struct pd_csf_tree *tree) {
  for (int l = 0; l < order; ++l) {
    pd_free(context, tree->id[l]);
    pd_free(context, tree->start[l]);
  }
  pd_free(context, tree->values);
  *tree = (struct pd_csf_tree){0};
}

static polyad_status broken(polyad_context *context, int tree, int level, const char *what,
                            uint64_t node) {
  return pd_fail(context, POLYAD_INTERNAL, "csf tree %d, level %d: %s at node %llu", tree, level,
                 what, (unsigned long long)node);
}

/* Children of every node: at least one, their ids ascending; together the whole level below. */
static polyad_status check_children(polyad_context *context, const struct pd_csf_tree *tree,
                                    int which, int level) {
  uint64_t end = 0;
  for (uint64_t k = 0; k < tree->nodes[level]; ++k) {
    uint64_t begin = pd_id_at(tree->start[level], tree->start_bytes, k);
    if (begin != end) return broken(context, which, level, "children do not follow", k);
    end = pd_id_at(tree->start[level], tree->start_bytes, k + 1);
    if (end <= begin || end > tree->nodes[level + 1])
      return broken(context, which, level, "bad number of children", k);
    for (uint64_t c = begin + 1; c < end; ++c)
      if (pd_id_at(tree->id[level + 1], tree->id_bytes[level + 1], c - 1) >=
          pd_id_at(tree->id[level + 1], tree->id_bytes[level + 1], c))
        return broken(context, which, level + 1, "ids not ascending", c);
  }
  if (end != tree->nodes[level + 1]) return broken(context, which, level, "children left over", 0);
  return POLYAD_OK;
}

polyad_status pd_csf_tree_check(polyad_context *context, const struct pd_csf *csf, int which) {
  const struct pd_csf_tree *tree = &csf->tree[which];
  if (tree->nodes[csf->order - 1] != csf->nnz)
    return broken(context, which, csf->order - 1, "not all nonzeros", 0);
  for (int l = 0; l < csf->order; ++l) {
    for (uint64_t k = 0; k < tree->nodes[l]; ++k)
      if (pd_id_at(tree->id[l], tree->id_bytes[l], k) >= csf->dims[tree->mode[l]])
        return broken(context, which, l, "id too large", k);
    if (l < csf->order - 1) PD_TRY(check_children(context, tree, which, l));
  }
  for (uint64_t k = 1; k < tree->nodes[0]; ++k)
    if (pd_id_at(tree->id[0], tree->id_bytes[0], k - 1) >=
        pd_id_at(tree->id[0], tree->id_bytes[0], k))
      return broken(context, which, 0, "ids not ascending", k);
  return POLYAD_OK;
}
