/* Building, checking and describing "csf". */
#include "formats/csf/csf.h"
#include "formats/csf/csf_layout.h"
#include "formats/rowsum/driver.h"
#include "formats/rowsum/rowsum_build.h"
#include <stdio.h>
#include <string.h>

static bool supports(const struct pd_traits *traits, const struct pd_request *request,
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
  }
  return bytes;
}

static void estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                           uint64_t *storage, uint64_t *building) {
  struct pd_csf_shape shape;
  pd_csf_choose(traits, request, &shape);
  *storage = sizeof(struct pd_csf);
  for (int t = 0; t < shape.trees; ++t)
    *storage = pd_add_saturated(*storage, tree_bytes(traits, request, shape.mode[t]));
  *building = pd_add_saturated(*storage, pd_rowsum_building_bytes(traits->nnz));
}

static double estimate_seconds(const struct pd_traits *traits, const struct pd_request *request) {
  struct pd_csf_shape shape;
  pd_csf_choose(traits, request, &shape);
  return pd_csf_seconds(traits, request, &shape);
}

static void destroy(polyad_context *context, void *storage) {
  struct pd_csf *csf = storage;
  if (csf == NULL) return;
  for (int t = 0; t < csf->trees; ++t)
    pd_csf_tree_clear(context, csf->order, &csf->tree[t]);
  pd_free(context, csf);
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

static polyad_status build(polyad_context *context, polyad_tensor *tensor, bool take,
                           const struct pd_request *request, void **storage) {
  (void)take; /* every tree is made from the tensor's arrays */
  polyad_status status = POLYAD_OK;
  struct pd_csf *csf = NULL;
  struct pd_csf_shape shape;
  struct pd_traits traits;
  *storage = NULL;
  PD_TRY_CLEANUP(pd_traits_compute(context, tensor, &traits));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, 1, &csf));
  csf->order = tensor->order;
  csf->nnz = tensor->nnz;
  csf->type = tensor->type;
  memcpy(csf->dims, tensor->dims, sizeof csf->dims);
  pd_csf_choose(&traits, request, &shape);
  assign_modes(csf, &shape);
  for (; csf->trees < shape.trees; ++csf->trees)
    PD_TRY_CLEANUP(pd_csf_tree_build(context, tensor, request->force_index64,
                                     shape.mode[csf->trees], &csf->tree[csf->trees]));
  *storage = csf;
  csf = NULL;
cleanup:
  destroy(context, csf);
  return status;
}

static polyad_status check(polyad_context *context, const void *storage) {
  const struct pd_csf *csf = storage;
  for (int t = 0; t < csf->trees; ++t)
    PD_TRY(pd_csf_tree_check(context, csf, t));
  for (int n = 0; n < csf->order; ++n)
    if (csf->tree[csf->tree_of[n]].mode[csf->level_of[n]] != n)
      return pd_fail(context, POLYAD_INTERNAL, "csf: mode %d is not at its place", n + 1);
  return POLYAD_OK;
}

static uint64_t bytes(const void *storage) {
  const struct pd_csf *csf = storage;
  uint64_t total = sizeof *csf;
  for (int t = 0; t < csf->trees; ++t) {
    const struct pd_csf_tree *tree = &csf->tree[t];
    for (int l = 0; l < csf->order; ++l) {
      total += tree->nodes[l] * (uint64_t)tree->id_bytes[l];
      if (tree->start[l] != NULL) total += (tree->nodes[l] + 1) * (uint64_t)tree->start_bytes;
    }
    total += csf->nnz * pd_type_bytes(csf->type);
  }
  return total;
}

static void describe(const void *storage, char text[PD_REASON_BYTES]) {
  const struct pd_csf *csf = storage;
  int length = snprintf(text, PD_REASON_BYTES, "%d tree%s, mode orders", csf->trees,
                        csf->trees == 1 ? "" : "s");
  for (int t = 0; t < csf->trees; ++t)
    for (int l = 0; l < csf->order && length < PD_REASON_BYTES; ++l)
      length += snprintf(text + length, (size_t)(PD_REASON_BYTES - length), "%s%d",
                         l == 0 ? " " : "-", csf->tree[t].mode[l] + 1);
}

static void expand_level(const struct pd_csf *csf, int level, uint64_t node, uint64_t *nonzero,
                         uint64_t *path, void **index) {
  const struct pd_csf_tree *tree = &csf->tree[0];
  path[tree->mode[level]] = pd_id_at(tree->id[level], tree->id_bytes[level], node);
  if (level < csf->order - 1) {
    uint64_t end = pd_id_at(tree->start[level], tree->start_bytes, node + 1);
    for (uint64_t c = pd_id_at(tree->start[level], tree->start_bytes, node); c < end; ++c)
      expand_level(csf, level + 1, c, nonzero, path, index);
    return;
  }
  for (int n = 0; n < csf->order; ++n)
    if (pd_index_bytes(csf->dims[n]) == 4)
      ((uint32_t *)index[n])[*nonzero] = (uint32_t)path[n];
    else
      ((uint64_t *)index[n])[*nonzero] = path[n];
  ++*nonzero;
}

static polyad_status expand(polyad_context *context, const void *storage, polyad_tensor **tensor) {
  const struct pd_csf *csf = storage;
  polyad_status status = POLYAD_OK;
  void *index[POLYAD_MAX_ORDER] = {NULL}, *values = NULL;
  uint64_t nonzero = 0, path[POLYAD_MAX_ORDER];
  size_t item = pd_type_bytes(csf->type);
  for (int n = 0; n < csf->order; ++n)
    PD_TRY_CLEANUP(pd_alloc(context, csf->nnz, (size_t)pd_index_bytes(csf->dims[n]), &index[n]));
  PD_TRY_CLEANUP(pd_alloc(context, csf->nnz, item, &values));
  for (uint64_t k = 0; k < csf->tree[0].nodes[0]; ++k)
    expand_level(csf, 0, k, &nonzero, path, index);
  memcpy(values, csf->tree[0].values, csf->nnz * item);
  status = pd_tensor_create_take(context, csf->order, csf->dims, csf->nnz, csf->type, index,
                                 &values, POLYAD_DUPLICATES_SUM, tensor);
cleanup:
  for (int n = 0; n < csf->order; ++n)
    pd_free(context, index[n]);
  pd_free(context, values);
  return status;
}

const struct polyad_format pd_csf_format = {
    .name = "csf",
    .summary = "Compressed sparse fibers: one or more trees that store shared indices once",
    .paper = "S. Smith and G. Karypis, Workshop on Irregular Applications (IA3) 2015",
    .variants = "auto one two all",
    .min_order = 1,
    .max_order = POLYAD_MAX_ORDER,
    .deterministic = true,
    .supports = supports,
    .estimate_bytes = estimate_bytes,
    .estimate_seconds = estimate_seconds,
    .build = build,
    .check = check,
    .bytes = bytes,
    .describe = describe,
    .destroy = destroy,
    .expand = expand,
};
