/* Packing of elements, and the partitioning of a mode's vertices (paper A, section 3.4). */
#include "core/radix_sort.h"
#include "formats/flycoo/flycoo_layout.h"

static struct pd_flycoo_field next_field(int *at, int bits) {
  struct pd_flycoo_field field = {*at / 32, *at % 32, bits};
  *at += bits;
  return field;
}

void pd_flycoo_pack(int order, const uint64_t *dims, uint64_t nnz, polyad_type type,
                    struct pd_flycoo_packing *packing) {
  int at = type == POLYAD_F32 ? 32 : 64;
  *packing = (struct pd_flycoo_packing){.order = order};
  for (int n = 0; n < order; ++n)
    packing->index[n] = next_field(&at, pd_index_bits(dims[n]));
  for (int n = 0; n < order; ++n)
    packing->remap[n] = next_field(&at, pd_index_bits(nnz == 0 ? 1 : nnz));
  packing->bits = at;
  packing->words = (at + 31) / 32;
  /* An empty field at the very end would name a word that does not exist. */
  for (int n = 0; n < order; ++n) {
    if (packing->index[n].bits == 0) packing->index[n].word = packing->index[n].shift = 0;
    if (packing->remap[n].bits == 0) packing->remap[n].word = packing->remap[n].shift = 0;
  }
}

/* ---- a heap of partitions, the least filled on top ---------------------------------------------
 */

static bool before(const uint64_t *load, uint32_t a, uint32_t b) {
  return load[a] != load[b] ? load[a] < load[b] : a < b;
}

static void sift_down(const uint64_t *load, uint32_t *heap, int count) {
  int at = 0;
  for (;;) {
    int child = 2 * at + 1;
    if (child >= count) return;
    if (child + 1 < count && before(load, heap[child + 1], heap[child])) ++child;
    if (!before(load, heap[child], heap[at])) return;
    uint32_t swap = heap[at];
    heap[at] = heap[child];
    heap[child] = swap;
    at = child;
  }
}

polyad_status pd_flycoo_partition(polyad_context *context, uint64_t vertices,
                                  const uint32_t *degree, int partitions, bool cyclic,
                                  uint32_t *part, uint64_t *load) {
  polyad_status status = POLYAD_OK;
  uint64_t *keys = NULL;
  uint32_t *vertex = NULL, *heap = NULL;
  PD_TRY_CLEANUP(PD_NEW(context, vertices, &keys));
  PD_TRY_CLEANUP(PD_NEW(context, vertices, &vertex));
  PD_TRY_CLEANUP(PD_NEW(context, (uint64_t)partitions, &heap));
  for (uint64_t i = 0; i < vertices; ++i) {
    keys[i] = UINT32_MAX - degree[i];
    vertex[i] = (uint32_t)i;
  }
  PD_TRY_CLEANUP(pd_sort_u64(context, vertices, keys, 32, vertex, sizeof *vertex));
  for (int k = 0; k < partitions; ++k) {
    heap[k] = (uint32_t)k;
    load[k] = 0;
  }
  for (uint64_t j = 0; j < vertices; ++j) {
    uint32_t k = cyclic ? (uint32_t)(j % (uint64_t)partitions) : heap[0];
    part[vertex[j]] = k;
    load[k] += degree[vertex[j]];
    if (!cyclic) sift_down(load, heap, partitions);
  }
cleanup:
  pd_free(context, heap);
  pd_free(context, vertex);
  pd_free(context, keys);
  return status;
}
