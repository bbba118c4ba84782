/* Building, checking and freeing one tree of "csf". */
#include "formats/csf/csf_layout.h"
#include "formats/rowsum/driver.h"
#include "formats/rowsum/rowsum_build.h"
#include <string.h>

/* What a tree is made from: its nonzeros as sorted records, whose keys hold the indices of the
 * levels in turn. A thread lists the nodes that begin at a part of them. */
struct growing {
  struct pd_layout layout;
  int level_of_bit[64 * PD_RECORD_WORDS_MAX]; /* the level that each bit of a key belongs to */
  /* In records of one word: the bits of each level, the lowest of them, and all from there up. */
  uint64_t own[POLYAD_MAX_ORDER], upper[POLYAD_MAX_ORDER];
  int shift[POLYAD_MAX_ORDER];
  const uint64_t *records;
  int order, threads;
  uint64_t nnz;
  uint64_t (*nodes)[POLYAD_MAX_ORDER]; /* of each part and level, then those of the parts before */
};

static void set_levels(const polyad_tensor *tensor, const int *modes, int value_bits,
                       struct growing *growing) {
  struct pd_layout *layout = &growing->layout;
  for (int l = 0; l < tensor->order; ++l) {
    int bit = layout->key_bits;
    pd_layout_add(layout, modes[l], 0, pd_index_bits(tensor->dims[modes[l]]));
    for (; bit < layout->key_bits; ++bit)
      growing->level_of_bit[bit] = l;
    int bits = pd_index_bits(tensor->dims[modes[l]]), below = 64 - layout->key_bits;
    if (below < 0 || below > 63) continue;
    growing->shift[l] = below;
    growing->own[l] = pd_low_mask(bits) << below;
    growing->upper[l] = UINT64_MAX << below;
  }
  pd_layout_end_values(layout, tensor->type, value_bits);
}

/* The highest level whose index differs between nonzero p - 1 and p: a node of this level and of
 * all below begins there. No two nonzeros have the same key. */
static inline int highest_level(const struct growing *growing, uint64_t p) {
  uint64_t words = (uint64_t)growing->layout.words;
  if (p == 0) return 0;
  const uint64_t *here = growing->records + p * words, *before = here - words;
  for (int w = 0;; ++w)
    if (here[w] != before[w])
      return growing->level_of_bit[64 * w + __builtin_clzll(here[w] ^ before[w])];
}

/* Records of one word: those that differ from the one before in bits of a level or one above. */
static uint64_t count_changes(const uint64_t *record, uint64_t first, uint64_t end, uint64_t bits) {
  uint64_t changes = first == 0;
  for (uint64_t p = first == 0 ? 1 : first; p < end; ++p)
    changes += ((record[p] ^ record[p - 1]) & bits) != 0;
  return changes;
}

/* Nodes of the inner levels; every nonzero is a leaf. */
static void csf_tree_count_nodes(struct growing *growing, int part) {
  enum { BLOCK = 1 << 11 }; /* records that stay in the nearest cache from level to level */
  const int leaf = growing->order - 1;
  uint64_t *nodes = growing->nodes[part],
           first = pd_part_begin(growing->nnz, part, growing->threads);
  uint64_t end = pd_part_begin(growing->nnz, part + 1, growing->threads);
  memset(nodes, 0, sizeof growing->nodes[part]);
  nodes[leaf] = end - first;
  if (growing->layout.words == 1) {
    for (uint64_t p = first, stop; p < end; p = stop) {
      stop = end - p < BLOCK ? end : p + BLOCK;
      for (int l = 0; l < leaf; ++l)
        nodes[l] += count_changes(growing->records, p, stop, growing->upper[l]);
    }
    return;
  }
  for (uint64_t p = first; p < end; ++p)
    for (int l = highest_level(growing, p); l < leaf; ++l)
      ++nodes[l];
}

/* Whether nodes of inner levels begin at nonzero p. */
static inline bool is_first_leaf(const struct growing *growing, uint64_t p) {
  const int leaf = growing->order - 1;
  if (growing->layout.words > 1 || p == 0) return highest_level(growing, p) < leaf;
  return ((growing->records[p] ^ growing->records[p - 1]) & growing->upper[leaf - 1]) != 0;
}

/* Ids of the inner levels, and where their nodes begin in the level below. */
static void fill_inner(const struct growing *growing, int part, struct pd_csf_tree *tree) {
  const int leaf = growing->order - 1;
  uint64_t next[POLYAD_MAX_ORDER], words = (uint64_t)growing->layout.words;
  uint64_t end = pd_part_begin(growing->nnz, part + 1, growing->threads);
  memcpy(next, growing->nodes[part], sizeof next);
  for (uint64_t p = next[leaf]; p < end && leaf > 0; ++p) {
    if (!is_first_leaf(growing, p)) continue;
    next[leaf] = p;
    for (int l = highest_level(growing, p); l < leaf; ++l) {
      const uint64_t *record = growing->records + p * words;
      uint64_t index = words > 1 ? pd_record_index(&growing->layout, record, tree->mode[l])
                                 : (record[0] & growing->own[l]) >> growing->shift[l];
      pd_id_put(tree->start[l], tree->start_bytes, next[l], next[l + 1]);
      pd_id_put(tree->id[l], tree->id_bytes[l], next[l]++, index);
    }
  }
}

static void fill_leaves(const struct growing *growing, int part, struct pd_csf_tree *tree) {
  int leaf = growing->order - 1;
  uint64_t first = pd_part_begin(growing->nnz, part, growing->threads);
  uint64_t count = pd_part_begin(growing->nnz, part + 1, growing->threads) - first;
  const uint64_t *records = growing->records + first * (uint64_t)growing->layout.words;
  pd_records_index(&growing->layout, count, records, tree->mode[leaf], tree->id_bytes[leaf],
                   (char *)tree->id[leaf] + first * (uint64_t)tree->id_bytes[leaf]);
  pd_records_values(&growing->layout, count, records,
                    (char *)tree->values + first * (uint64_t)growing->layout.value_bytes);
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

/* The nodes of the parts before each, and of the whole tree. */
static void sum_nodes(struct growing *growing, struct pd_csf_tree *tree) {
  for (int part = 0; part < growing->threads; ++part)
    for (int l = 0; l < growing->order; ++l) {
      uint64_t nodes = growing->nodes[part][l];
      growing->nodes[part][l] = tree->nodes[l];
      tree->nodes[l] += nodes;
    }
}

static polyad_status csf_tree_grow(polyad_context *context, const polyad_tensor *tensor,
                                   bool force_index64, struct growing *growing,
                                   struct pd_csf_tree *tree) {
  int threads = growing->threads, order = growing->order;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part)
    csf_tree_count_nodes(growing, part);
  sum_nodes(growing, tree);
  PD_TRY(allocate_levels(context, tensor, force_index64, tree));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    fill_inner(growing, part, tree);
    fill_leaves(growing, part, tree);
  }
  for (int l = 0; l < order - 1; ++l)
    pd_id_put(tree->start[l], tree->start_bytes, tree->nodes[l], tree->nodes[l + 1]);
  return POLYAD_OK;
}

uint64_t pd_csf_building_bytes(const struct pd_traits *traits, polyad_type type, int threads) {
  int bits = pd_index_bits_of_all(traits->order, traits->dims);
  int words = pd_record_words(bits, 8 * (int)pd_type_bytes(type));
  return pd_add_saturated(pd_sorting_bytes(traits->nnz, words, threads),
                          (uint64_t)threads * 8 * POLYAD_MAX_ORDER);
}

polyad_status pd_csf_room_create(polyad_context *context, const polyad_tensor *tensor,
                                 struct pd_room *room) {
  int bits = pd_index_bits_of_all(tensor->order, tensor->dims);
  return pd_room_create_values(context, tensor, bits, room);
}

polyad_status pd_csf_tree_build(polyad_context *context, const polyad_tensor *tensor,
                                bool force_index64, const int *modes, struct pd_room *room,
                                struct pd_csf_tree *tree) {
  polyad_status status = POLYAD_OK;
  const struct pd_record_source source = {.tensor = tensor};
  struct growing growing = {.records = room->records,
                            .order = tensor->order,
                            .nnz = tensor->nnz,
                            .threads = pd_threads_for(context, tensor->nnz, 1 << 14)};
  *tree = (struct pd_csf_tree){.start_bytes = tensor->nnz < UINT32_MAX && !force_index64 ? 4 : 8};
  for (int l = 0; l < tensor->order; ++l)
    tree->mode[l] = modes[l];
  set_levels(tensor, modes, room->value_bits, &growing);
  PD_TRY_CLEANUP(pd_records_sort(context, &source, &growing.layout,
                                 pd_layout_unsorted_bits(&growing.layout), room, NULL, NULL));
  PD_TRY_CLEANUP(PD_NEW(context, (uint64_t)growing.threads, &growing.nodes));
  status = csf_tree_grow(context, tensor, force_index64, &growing, tree);
cleanup:
  pd_free(context, growing.nodes);
  return status;
}

static polyad_status csf_tree_broken(polyad_context *context, int tree, int level, const char *what,
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
    if (begin != end) return csf_tree_broken(context, which, level, "children do not follow", k);
    end = pd_id_at(tree->start[level], tree->start_bytes, k + 1);
    if (end <= begin || end > tree->nodes[level + 1])
      return csf_tree_broken(context, which, level, "bad number of children", k);
    for (uint64_t c = begin + 1; c < end; ++c)
      if (pd_id_at(tree->id[level + 1], tree->id_bytes[level + 1], c - 1) >=
          pd_id_at(tree->id[level + 1], tree->id_bytes[level + 1], c))
        return csf_tree_broken(context, which, level + 1, "ids not ascending", c);
  }
  if (end != tree->nodes[level + 1])
    return csf_tree_broken(context, which, level, "children left over", 0);
  return POLYAD_OK;
}

polyad_status pd_csf_tree_check(polyad_context *context, const struct pd_csf *csf, int which) {
  const struct pd_csf_tree *tree = &csf->tree[which];
  if (tree->nodes[csf->order - 1] != csf->nnz)
    return csf_tree_broken(context, which, csf->order - 1, "not all nonzeros", 0);
  for (int l = 0; l < csf->order; ++l) {
    for (uint64_t k = 0; k < tree->nodes[l]; ++k)
      if (pd_id_at(tree->id[l], tree->id_bytes[l], k) >= csf->dims[tree->mode[l]])
        return csf_tree_broken(context, which, l, "id too large", k);
    if (l < csf->order - 1) PD_TRY(check_children(context, tree, which, l));
  }
  for (uint64_t k = 1; k < tree->nodes[0]; ++k)
    if (pd_id_at(tree->id[0], tree->id_bytes[0], k - 1) >=
        pd_id_at(tree->id[0], tree->id_bytes[0], k))
      return csf_tree_broken(context, which, 0, "ids not ascending", k);
  return POLYAD_OK;
}
