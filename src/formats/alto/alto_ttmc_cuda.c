/* The tensor-times-matrix chain of "alto" on a GPU: indices are decoded once, in the order of the
 * keys; the lists of each row's nonzeros are those of MTTKRP. */
#include "formats/alto/alto_ttmc_cuda.h"
#include "formats/alto/alto_cuda.h"
#include "formats/alto/alto_layout.h"
#include "formats/ttmc/ttmc_cuda.h"

static uint64_t alto_ttmc_cuda_bytes(const void *storage, const uint64_t *ranks, int threads) {
  (void)threads;
  struct pd_alto_device_view view;
  pd_alto_view_device(storage, &view);
  uint64_t nnz = view.host->nnz;
  uint64_t planes = pd_mul_saturated(pd_mul_saturated(nnz, 4), (uint64_t)view.host->order);
  if (view.host->atomic) return planes;
  return pd_add_saturated(planes, pd_ttmc_gpu_carry_bytes(view.host->order, nnz, ranks));
}

static uint32_t alto_ttmc_cuda_index_of(const struct pd_alto *host, int mode, uint64_t p) {
  if (host->decoded) return (uint32_t)pd_alto_number(host->index[mode], host->index_bytes[mode], p);
  return (uint32_t)pd_alto_extract(&host->field[mode], pd_alto_words_at(host, p));
}

/* The indices of every mode, on the device. */
static polyad_status put_planes(polyad_context *context, const struct pd_alto *host,
                                struct pd_ttmc_gpu_work *work, const void **plane) {
  uint32_t *buffer;
  polyad_status status = POLYAD_OK;
  PD_TRY(pd_cuda_services->alloc(context, host->nnz, sizeof *buffer, (void **)&buffer));
  for (int n = 0; n < host->order && status == POLYAD_OK; ++n) {
    for (uint64_t p = 0; p < host->nnz; ++p)
      buffer[p] = alto_ttmc_cuda_index_of(host, n, p);
    status = pd_ttmc_gpu_put(context, work, host->nnz, sizeof *buffer, buffer, &plane[n]);
  }
  pd_cuda_services->free(context, buffer);
  return status;
}

static void alto_ttmc_cuda_fill_list(const struct pd_alto_device_view *view, int mode,
                                     const void *const *plane, struct pd_ttmc_list *to) {
  *to = (struct pd_ttmc_list){.nnz = view->host->nnz,
                              .row = {.plane = plane[mode], .mask = UINT32_MAX},
                              .order = view->order[mode],
                              .values = view->values,
                              .atomic = view->host->atomic};
  for (int n = 0; n < view->host->order; ++n) {
    if (n == mode) continue;
    to->column_mode[to->columns] = n;
    to->column[to->columns++] = (struct pd_gpu_ttmc_index){.plane = plane[n], .mask = UINT32_MAX};
  }
}

static polyad_status alto_ttmc_cuda_create(polyad_context *context, const struct pd_device *device,
                                           const void *storage, const uint64_t *ranks,
                                           void **scratch) {
  struct pd_alto_device_view view;
  struct pd_ttmc_gpu_work *work;
  const void *plane[POLYAD_MAX_ORDER] = {NULL};
  *scratch = NULL;
  pd_alto_view_device(storage, &view);
  PD_TRY(pd_ttmc_gpu_create(context, device, view.host->order, view.host->type, &work));
  polyad_status status = put_planes(context, view.host, work, plane);
  for (int mode = 0; mode < view.host->order; ++mode)
    alto_ttmc_cuda_fill_list(&view, mode, plane, &work->list[mode]);
  if (status == POLYAD_OK) status = pd_ttmc_gpu_finish(context, work, ranks);
  if (status == POLYAD_OK)
    *scratch = work;
  else
    pd_ttmc_gpu_destroy(context, work);
  return status;
}

const struct pd_walk pd_alto_ttmc_walk_cuda = PD_TTMC_WALK_CUDA(alto_ttmc_cuda);
