/* Building, checking and describing "csf". */
#include "formats/csf/csf_layout.h"
#include "formats/rowsum/driver.h"
#include "formats/rowsum/rowsum_build.h"
#include "formats/tables.h"
#include <stdio.h>
#include <string.h>

static bool csf_supports(const struct pd_traits *traits, const struct pd_request *request,
                         char reason[PD_REASON_BYTES]) {
  (void)traits, (void)request, (void)reason;
  return true;
}

/* Nodes of a level are at most the nonzeros and at most the product of the dims down to it. */
static uint64_t tree_bytes(const struct pd_traits *traits, const struct pd_request *request,
                           const int *modes) {
  uint64_t bytes = 0, paths = 1;
  for (int l = 0; l < traits->order; ++l) {
    int n = modes[l];
    paths = pd_mul_saturated(paths, traits->nonempty[n]);
    uint64_t nodes = paths < traits->nnz ? paths : traits->nnz;
    if (l == traits->order - 2) { /* the count of fibers is good to a few percent */
      uint64_t fibers = pd_add_saturated(traits->fibers[modes[l + 1]], traits->nnz / 16);
      nodes = fibers < nodes ? fibers : nodes;
    }
    uint64_t start = traits->nnz < UINT32_MAX && !request->force_index64 ? 4 : 8;
    uint64_t item = l < traits->order - 1 ? start : pd_type_bytes(request->precision);
    item += (uint64_t)pd_rowsum_index_bytes(traits->dims[n], request->force_index64);
    bytes = pd_add_saturated(bytes, pd_mul_saturated(nodes, item));
    if (l < traits->order - 1)
      bytes = pd_add_saturated(bytes, start); /* the end of the last node */
  }
  return bytes;
}

static void csf_estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                               uint64_t *storage, uint64_t *building) {
  struct pd_csf_shape shape;
  pd_csf_choose(traits, request, &shape);
  *storage = sizeof(struct pd_csf);
  for (int t = 0; t < shape.trees; ++t)
    *storage = pd_add_saturated(*storage, tree_bytes(traits, request, shape.mode[t]));
  *building = pd_add_saturated(*storage,
                               pd_csf_building_bytes(traits, request->precision, request->threads));
}

static double csf_estimate_seconds(const struct pd_traits *traits,
                                   const struct pd_request *request) {
  struct pd_csf_shape shape;
  pd_csf_choose(traits, request, &shape);
  return pd_csf_seconds(traits, request, &shape);
}

/* Every tree is sorted once. */
static double csf_estimate_building(const struct pd_traits *traits,
                                    const struct pd_request *request) {
  struct pd_csf_shape shape;
  pd_csf_choose(traits, request, &shape);
  return (double)traits->nnz * shape.trees * 25;
}

static void csf_arrays(void *storage, struct pd_arrays *arrays) {
  struct pd_csf *csf = storage;
  for (int t = 0; t < csf->trees; ++t) {
    struct pd_csf_tree *tree = &csf->tree[t];
    for (int l = 0; l < csf->order; ++l)
      pd_show_array(arrays, &tree->id[l], tree->nodes[l], (size_t)tree->id_bytes[l],
                    PD_ARRAY_DECODED);
    for (int l = 0; l < csf->order - 1; ++l)
      pd_show_array(arrays, &tree->start[l], tree->nodes[l] + 1, (size_t)tree->start_bytes,
                    PD_ARRAY_DECODED);
    pd_show_array(arrays, &tree->values, csf->nnz, pd_type_bytes(csf->type), PD_ARRAY_DECODED);
  }
}

/* Each mode is served by the tree in which it is nearest to the root. */
static void assign_modes(struct pd_csf *csf, const struct pd_csf_shape *shape) {
  for (int n = 0; n < csf->order; ++n) {
    csf->level_of[n] = csf->order;
    for (int t = 0; t < shape->trees; ++t)
      for (int l = 0; l < csf->level_of[n]; ++l)
        if (shape->mode[t][l] == n) {
          csf->tree_of[n] = t;
          csf->level_of[n] = l;
        }
  }
}

static polyad_status csf_build(polyad_context *context, polyad_tensor *tensor, bool take,
                               const struct pd_request *request, void *storage) {
  (void)take; /* every tree is made from the tensor's arrays */
  struct pd_csf *csf = storage;
  struct pd_csf_shape shape;
  struct pd_traits traits;
  struct pd_room room = {0};
  PD_TRY(pd_traits_of_request(context, tensor, request, &traits));
  csf->order = tensor->order;
  csf->nnz = tensor->nnz;
  csf->type = tensor->type;
  memcpy(csf->dims, tensor->dims, sizeof csf->dims);
  pd_csf_choose(&traits, request, &shape);
  assign_modes(csf, &shape);
  csf->trees = shape.trees;
  polyad_status status = pd_csf_room_create(context, tensor, &room);
  for (int t = 0; t < csf->trees && status == POLYAD_OK; ++t)
    status = pd_csf_tree_build(context, tensor, request->force_index64, shape.mode[t], &room,
                               &csf->tree[t]);
  pd_room_destroy(context, &room);
  return status;
}

static polyad_status csf_check(polyad_context *context, const void *storage) {
  const struct pd_csf *csf = storage;
  for (int t = 0; t < csf->trees; ++t)
    PD_TRY(pd_csf_tree_check(context, csf, t));
  for (int n = 0; n < csf->order; ++n)
    if (csf->tree[csf->tree_of[n]].mode[csf->level_of[n]] != n)
      return pd_fail(context, POLYAD_INTERNAL, "csf: mode %d is not at its place",
                     pd_shown_mode(context, n));
  return POLYAD_OK;
}

static void csf_describe(const void *storage, int first_mode, char text[PD_REASON_BYTES]) {
  const struct pd_csf *csf = storage;
  int length = snprintf(text, PD_REASON_BYTES, "%d tree%s, mode orders", csf->trees,
                        csf->trees == 1 ? "" : "s");
  for (int t = 0; t < csf->trees; ++t)
    for (int l = 0; l < csf->order && length < PD_REASON_BYTES; ++l)
      length += snprintf(text + length, (size_t)(PD_REASON_BYTES - length), "%s%d",
                         l == 0 ? " " : "-", csf->tree[t].mode[l] + first_mode);
}

/* Nonzeros are the leaves of the first tree: from one to the next, a node is left when its last
 * child is. */
static void csf_decode(const void *storage, uint64_t first, int count, struct pd_chunk *chunk) {
  const struct pd_csf *csf = storage;
  const struct pd_csf_tree *tree = &csf->tree[0];
  int leaf = csf->order - 1;
  uint64_t node[POLYAD_MAX_ORDER];
  node[leaf] = first;
  for (int l = leaf - 1; l >= 0; --l)
    node[l] = pd_id_find(tree->start[l], tree->start_bytes, 0, tree->nodes[l], node[l + 1]);
  for (int k = 0; k < count; ++k) {
    node[leaf] = first + (uint64_t)k;
    for (int l = leaf - 1;
         l >= 0 && pd_id_at(tree->start[l], tree->start_bytes, node[l] + 1) <= node[l + 1]; --l)
      ++node[l];
    for (int l = 0; l <= leaf; ++l)
      chunk->index[tree->mode[l]][k] = pd_id_at(tree->id[l], tree->id_bytes[l], node[l]);
    chunk->value[k] = csf->type == POLYAD_F32 ? (double)((const float *)tree->values)[node[leaf]]
                                              : ((const double *)tree->values)[node[leaf]];
  }
}

const struct polyad_format pd_csf_format = {
    .name = "csf",
    .summary = "Compressed sparse fibers: one or more trees that store shared indices once",
    .paper = "S. Smith and G. Karypis, Workshop on Irregular Applications (IA3) 2015",
    .variants = "auto one two all",
    .min_order = 1,
    .max_order = POLYAD_MAX_ORDER,
    .supports = csf_supports,
    .estimate_bytes = csf_estimate_bytes,
    .estimate_seconds = csf_estimate_seconds,
    .estimate_building = csf_estimate_building,
    .build = csf_build,
    .check = csf_check,
    .header_bytes = sizeof(struct pd_csf),
    .arrays = csf_arrays,
    .describe = csf_describe,
    .decode = csf_decode,
    .rows = pd_csf_row_source,
};
