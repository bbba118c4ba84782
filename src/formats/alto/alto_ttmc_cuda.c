/* The tensor-times-matrix chain of "alto" on a GPU: indices are decoded once, in the order of the
 * keys; the lists of each row's nonzeros are those of MTTKRP. */
#include "formats/alto/alto_cuda.h"
#include "formats/alto/alto_launch.h"
#include "formats/alto/alto_layout.h"
#include "formats/tables.h"
#include "formats/ttmc/ttmc_cuda.h"

static uint64_t alto_ttmc_cuda_bytes(const void *storage, const uint64_t *ranks, int threads) {
  (void)threads;
  const struct pd_alto *alto = storage;
  uint64_t planes = pd_mul_saturated(pd_mul_saturated(alto->nnz, 4), (uint64_t)alto->order);
  if (alto->decoded) planes = 0;
  if (alto->atomic) return planes;
  return pd_add_saturated(planes, pd_ttmc_gpu_carry_bytes(alto->order, alto->nnz, ranks));
}

/* The indices of a mode: variants coo have them. */
static polyad_status decode_plane(polyad_context *context, const struct pd_alto *alto, int mode,
                                  struct pd_ttmc_gpu_work *work, const void **plane) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->base.device);
  struct pd_gpu_alto a;
  void *made;
  *plane = alto->index[mode];
  if (alto->decoded || alto->nnz == 0) return POLYAD_OK;
  PD_TRY(PD_CUDA_SCRATCH(context, &work->base, alto->nnz, sizeof(uint32_t), &made));
  *plane = made;
  pd_alto_set_nonzeros(alto, mode, NULL, &a);
  return PD_CUDA(context, state, pd_alto_indices(&a, made, pd_cuda_stream(state)));
}

static void alto_ttmc_cuda_fill_list(const struct pd_alto *alto, int mode, const void *const *plane,
                                     struct pd_ttmc_list *to) {
  *to = (struct pd_ttmc_list){.nnz = alto->nnz,
                              .row = {.plane = plane[mode], .mask = UINT32_MAX},
                              .order = alto->list[mode].order,
                              .values = alto->values,
                              .atomic = alto->atomic};
  for (int n = 0; n < alto->order; ++n) {
    if (n == mode) continue;
    to->column_mode[to->columns] = n;
    to->column[to->columns++] = (struct pd_gpu_ttmc_index){.plane = plane[n], .mask = UINT32_MAX};
  }
}

static polyad_status alto_ttmc_cuda_lists(polyad_context *context, const void *storage,
                                          struct pd_ttmc_gpu_work *work) {
  const struct pd_alto *alto = storage;
  const void *plane[POLYAD_MAX_ORDER] = {NULL};
  for (int n = 0; n < alto->order; ++n)
    PD_TRY(decode_plane(context, alto, n, work, &plane[n]));
  for (int mode = 0; mode < alto->order; ++mode)
    alto_ttmc_cuda_fill_list(alto, mode, plane, &work->list[mode]);
  return POLYAD_OK;
}

PD_TTMC_WALK_CUDA(alto)
