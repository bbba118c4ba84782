/* The tensor-times-matrix chain of "csf" on the CPU: a walk along the tree. Where the output mode
 * is not the root, the subtrees of its nodes are taken in the order of their rows; the modes above
 * it are then the outermost columns, those below it the inner ones. */
#include "formats/csf/csf_layout.h"
#include "formats/rowsum/driver.h"
#include "formats/tables.h"
#include "formats/ttmc/ttmc_rows.h"

static const struct pd_csf_tree *tree_of(const struct pd_csf *csf, int mode) {
  return &csf->tree[csf->tree_of[mode]];
}

/* Whether the nodes of the mode's level are not in the order of their rows. */
static bool needs_order(const struct pd_csf *csf, int mode) { return csf->level_of[mode] > 0; }

static bool is_leaf(const struct pd_csf *csf, int mode) {
  return csf->level_of[mode] == csf->order - 1;
}

static uint64_t row_of_node(const void *storage, int mode, uint64_t node) {
  const struct pd_csf *csf = storage;
  const struct pd_csf_tree *tree = tree_of(csf, mode);
  int level = csf->level_of[mode];
  return pd_id_at(tree->id[level], tree->id_bytes[level], node);
}

/* The first nonzero below a node. */
static uint64_t start_of_node(const void *storage, int mode, uint64_t node) {
  const struct pd_csf *csf = storage;
  const struct pd_csf_tree *tree = tree_of(csf, mode);
  for (int l = csf->level_of[mode]; l < csf->order - 1; ++l)
    node = pd_id_at(tree->start[l], tree->start_bytes, node);
  return node;
}

/* From the leaves up: `node` holds the nodes of one level after the other. */
static void csf_ttmc_decode(const struct pd_ttmc_source *source, uint64_t count,
                            const uint64_t *place, struct pd_ttmc_block *block) {
  const struct pd_csf *csf = source->storage;
  const struct pd_csf_tree *tree = tree_of(csf, source->mode);
  int leaf = csf->order - 1, level = csf->level_of[source->mode];
  uint64_t node[PD_TTMC_BLOCK];
  for (uint64_t p = 0; p < count; ++p) {
    node[p] = place[p];
    block->value[p] = source->type == POLYAD_F32 ? (double)((const float *)tree->values)[place[p]]
                                                 : ((const double *)tree->values)[place[p]];
  }
  for (int l = leaf; l >= 0; --l) {
    uint64_t *to = l == level ? block->row : block->index[l < level ? l : l - 1];
    for (uint64_t p = 0; p < count; ++p) {
      if (l < leaf)
        node[p] = block->hint[l] = pd_ttmc_find(tree->start[l], tree->start_bytes, tree->nodes[l],
                                                block->hint[l], node[p]);
      to[p] = pd_id_at(tree->id[l], tree->id_bytes[l], node[p]);
    }
  }
}

void pd_csf_row_source(const void *storage, int mode, struct pd_ttmc_source *source,
                       struct pd_ttmc_segments *segments) {
  const struct pd_csf *csf = storage;
  const struct pd_csf_tree *tree = tree_of(csf, mode);
  *source = (struct pd_ttmc_source){.storage = storage,
                                    .mode = mode,
                                    .type = csf->type,
                                    .nnz = csf->nnz,
                                    .decode = csf_ttmc_decode};
  for (int l = 0; l < csf->order; ++l)
    if (l != csf->level_of[mode]) source->column_mode[source->columns++] = tree->mode[l];
  *segments = (struct pd_ttmc_segments){.storage = storage, .mode = mode, .dim = csf->dims[mode]};
  if (!needs_order(csf, mode) || csf->nnz == 0) return;
  segments->count = tree->nodes[csf->level_of[mode]];
  segments->row = row_of_node;
  segments->start = is_leaf(csf, mode) ? NULL : start_of_node;
}

PD_TTMC_WALK(csf)
