/* Building, checking and describing "bcsf". */
#include "formats/bcsf/bcsf_layout.h"
#include "formats/tables.h"
#include <stdio.h>

static void bcsf_estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                                uint64_t *storage, uint64_t *building) {
  struct pd_bcsf like = {.head = {.order = traits->order, .type = request->precision}};
  for (int n = 0; n < traits->order; ++n) {
    int levels[POLYAD_MAX_ORDER];
    pd_fibers_levels(traits->order, traits->dims, n, pd_fibers_leaf(traits, n), levels);
    like.tree[n] = pd_fibers_like(traits, levels);
  }
  *storage = pd_storage_bytes(&pd_bcsf_format, &like);
  *building = pd_add_saturated(*storage, pd_nz_sorted_bytes(traits, request));
}

static void bcsf_arrays(void *storage, struct pd_arrays *arrays) {
  struct pd_bcsf *bcsf = storage;
  for (int n = 0; n < bcsf->head.order; ++n)
    pd_fibers_arrays(&bcsf->tree[n], bcsf->head.type, n == 0 ? PD_ARRAY_DECODED : PD_ARRAY_MOVES,
                     arrays);
}

static void bcsf_decode(const void *storage, int mode, uint64_t first, int count,
                        struct pd_chunk *block) {
  const struct pd_bcsf *bcsf = storage;
  pd_fibers_decode(&bcsf->tree[mode], bcsf->head.type, first, count, 0, block);
}

static const struct pd_nz_ops ops = {.rows_together = true, .decode = bcsf_decode};

static polyad_status bcsf_build(polyad_context *context, polyad_tensor *tensor, bool take,
                                const struct pd_request *request, void *storage) {
  (void)take;
  polyad_status status = POLYAD_OK;
  struct pd_bcsf *bcsf = storage;
  struct pd_traits traits;
  struct pd_room room = {0};
  polyad_tensor sorted = {.context = context};
  PD_TRY_CLEANUP(pd_traits_of_request(context, tensor, request, &traits));
  pd_nz_init(&bcsf->head, &ops, tensor);
  for (int n = 0; n < tensor->order; ++n) {
    int levels[POLYAD_MAX_ORDER];
    pd_fibers_levels(tensor->order, tensor->dims, n, pd_fibers_leaf(&traits, n), levels);
    PD_TRY_CLEANUP(pd_sorted_by_modes(context, tensor, levels, &room, &sorted));
    PD_TRY_CLEANUP(pd_fibers_build(context, &sorted, levels, (uint32_t)tensor->nnz, NULL,
                                   PD_BCSF_FIBER_MOST, &bcsf->tree[n]));
    pd_tensor_free_arrays(&sorted);
  }
cleanup:
  pd_tensor_free_arrays(&sorted);
  pd_room_destroy(context, &room);
  return status;
}

static polyad_status bcsf_check(polyad_context *context, const void *storage) {
  const struct pd_bcsf *bcsf = storage;
  for (int n = 0; n < bcsf->head.order; ++n)
    PD_TRY(pd_fibers_check(context, &bcsf->tree[n], "bcsf", PD_BCSF_FIBER_MOST));
  return pd_nz_check(context, &bcsf->head, "bcsf");
}

static void bcsf_describe(const void *storage, int first_mode, char text[PD_REASON_BYTES]) {
  (void)first_mode;
  const struct pd_bcsf *bcsf = storage;
  snprintf(text, PD_REASON_BYTES, "%d trees, fibers of at most %d nonzeros", bcsf->head.order,
           PD_BCSF_FIBER_MOST);
}

const struct polyad_format pd_bcsf_format = {
    .name = "bcsf",
    .summary = "Compressed fibers for each mode, long fibers and slices cut into equal parts",
    .paper = "I. Nisa et al., IPDPS 2019",
    .variants = "auto",
    .by_name = true,
    .supports = pd_nz_supports,
    .estimate_seconds = pd_nz_estimate_seconds,
    PD_NZ_FORMAT_SLOTS(bcsf),
};

const struct polyad_kernels pd_bcsf_kernels_cpu = PD_NZ_KERNELS_CPU("bcsf");
