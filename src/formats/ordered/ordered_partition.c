/* Dealing the vertices of a mode to partitions (paper A, section 3.4; paper B, scheme 1). */
#include "core/radix_sort.h"
#include "device/device_registry.h"
#include "formats/ordered/ordered.h"
#include <string.h>

const struct pd_parameter pd_partition_parameters[] = {
    [PD_PARTITIONS] =
        {.about = {.name = "kappa",
                   .help = "partitions of every mode; by default one per processor of the device",
                   .least = 1,
                   .most = 1 << 20}},
    [PD_BLOCK_COLUMNS] = {
        .about = {.name = "block-columns",
                  .help = "nonzeros that a GPU's thread block takes at once in the variants "
                          "paper",
                  .least = 1,
                  .most = 64,
                  .usual = PD_BLOCK_COLUMNS_USUAL}}};

int pd_partition_count(const struct pd_request *request) {
  polyad_device_description about;
  int asked = pd_parameter(request, PD_PARTITIONS, 0);
  if (asked > 0) return asked;
  if (strcmp(request->device->kind, "cpu") == 0) return request->threads;
  pd_device_describe(request->device, &about);
  return about.processors;
}

/* ---- a heap of partitions, the least filled on top --------------------------------------------
 */

static bool ordered_partition_before(const uint64_t *load, uint32_t a, uint32_t b) {
  return load[a] != load[b] ? load[a] < load[b] : a < b;
}

static void sift_down(const uint64_t *load, uint32_t *heap, int count) {
  int at = 0;
  for (;;) {
    int child = 2 * at + 1;
    if (child >= count) return;
    if (child + 1 < count && ordered_partition_before(load, heap[child + 1], heap[child])) ++child;
    if (!ordered_partition_before(load, heap[child], heap[at])) return;
    uint32_t swap = heap[at];
    heap[at] = heap[child];
    heap[child] = swap;
    at = child;
  }
}

polyad_status pd_partition_vertices(polyad_context *context, uint64_t vertices,
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
  PD_FREE(context, heap, vertex, keys);
  return status;
}
