/* The slots of the dense algebra that bring factors to their normal form on a GPU. What they take
 * and leave lies where the passes of updates leave their sums, which nobody needs any more. */
#include "core/numbers.h"
#include "device/cuda/cuda_linalg_work.h"
#include <math.h>
#include <string.h>

_Static_assert((int)PD_COLUMN_CHUNK == (int)PD_GPU_NORM_COLUMNS, "launchers take as many columns");

polyad_status pd_cuda_column_norms(polyad_context *context, struct pd_linalg_work *work,
                                   const struct pd_matrix *x, uint64_t first, int count,
                                   const int *exponent, double *norm, double *peak) {
  struct pd_gpu_norms job = {
      .x = pd_gpu_matrix_of(x), .first = first, .count = count, .parts = work->sums};
  double *out = work->invert, found[2 * PD_COLUMN_CHUNK];
  PD_LINALG_ENTER(context, work);
  for (int c = 0; c < count; ++c)
    pd_two_powers(exponent[c], &job.one[c], &job.other[c]);
  PD_TRY(PD_CUDA(context, state, pd_gpu_column_norms(&job, out, stream)));
  PD_TRY(work->device->functions->copy_out(context, work->device, found, out,
                                           2 * (uint64_t)count * sizeof *found));
  memcpy(norm, found, (size_t)count * sizeof *norm);
  memcpy(peak, found + count, (size_t)count * sizeof *peak);
  return POLYAD_OK;
}

polyad_status pd_cuda_form_columns(polyad_context *context, struct pd_linalg_work *work,
                                   const struct pd_column_form *form, const struct pd_matrix *x,
                                   struct pd_matrix *to) {
  double *numbers = NULL;
  uint64_t rank = x->columns;
  PD_LINALG_ENTER(context, work);
  PD_TRY(pd_cuda_services->alloc(context, PD_GPU_FORM * rank, sizeof *numbers, (void **)&numbers));
  for (uint64_t k = 0; k < rank; ++k) {
    double *of = numbers + k * PD_GPU_FORM;
    of[0] = (double)form[k].place;
    of[1] = form[k].one;
    of[2] = form[k].other;
    of[3] = form[k].divisor;
  }
  polyad_status status = work->device->functions->copy_in(
      context, work->device, work->sums, numbers, PD_GPU_FORM * rank * sizeof *numbers);
  if (status == POLYAD_OK)
    status =
        PD_CUDA(context, state,
                pd_gpu_form_columns(pd_gpu_matrix_of(x), pd_gpu_matrix_of(to), work->sums, stream));
  pd_cuda_services->free(context, numbers);
  return status;
}
