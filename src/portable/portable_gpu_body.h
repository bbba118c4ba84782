/* Launchers of the portable kernels for one type (PD_F64), in the C++ dialects for GPUs. The
 * includer defines PD_GPU_ERROR, PD_GPU_STREAM, PD_GPU_LAST_ERROR() and PD_GPU_NAME(x). */
#include "portable/portable_launch.h"

#define PD_LAUNCHER "portable/launch_cuda.h"
#define PD_PLANE_ARGUMENT(k) static_cast<const pd_u32 *>(at->plane[k])
#define PD_FACTOR_ARGUMENT(k) static_cast<const REAL *>(at->factor[k])
#include "portable/instances_rows.h"
#include "portable/kernels_join.h"
#include "portable/kernels_stream.h"

enum { THREADS = 256 };

static unsigned blocks_for(uint64_t items) { return (unsigned)((items + THREADS - 1) / THREADS); }

#include "portable/real_types.h"

typedef PD_GPU_ERROR rows_run(const struct pd_rows_launch *launch, PD_GPU_STREAM stream);
static rows_run *const runs[PD_ROWS_KINDS][PD_ROWS_CLASSES][PD_ROWS_TILES] =
#if PD_F64
    PD_RUN_TABLE(1);
#else
    PD_RUN_TABLE(0);
#endif

extern "C" PD_GPU_ERROR PD_GPU_NAME(rows)(const struct pd_rows_launch *launch,
                                          PD_GPU_STREAM stream) {
  const struct pd_rows_pointers *at = &launch->at;
  if (launch->what < PD_ROWS_JOIN)
    return runs[launch->what][launch->inputs_class][launch->tile](launch, stream);
  if (launch->what == PD_ROWS_JOIN)
    OF_TYPE(join_rows)<<<blocks_for(launch->groups), THREADS, 0, stream>>>(
        launch->job, static_cast<const pd_u64 *>(at->row_start),
        static_cast<const pd_u32 *>(at->row_id), static_cast<const pd_u32 *>(at->chunk_row),
        static_cast<const REAL *>(at->head), static_cast<const REAL *>(at->tail),
        static_cast<REAL *>(at->out));
  else if (launch->what == PD_ROWS_GAINS)
    OF_TYPE(sum_gains)<<<blocks_for(launch->groups), THREADS, 0, stream>>>(
        launch->rows, launch->job.segment, static_cast<const double *>(at->head),
        static_cast<double *>(at->out));
  else
    OF_TYPE(zero_rows)<<<blocks_for(launch->groups), THREADS, 0, stream>>>(
        launch->job, static_cast<const pd_u32 *>(at->used), launch->rows,
        static_cast<REAL *>(at->out));
  return PD_GPU_LAST_ERROR();
}

extern "C" PD_GPU_ERROR PD_GPU_NAME(stream)(const struct pd_stream_job *job, PD_GPU_STREAM stream) {
  REAL *a = static_cast<REAL *>(job->a), *b = static_cast<REAL *>(job->b),
       *c = static_cast<REAL *>(job->c), s = (REAL)job->scalar;
  unsigned blocks = blocks_for(job->count / WIDTH);
  switch (job->loop) {
  case POLYAD_STREAM_COPY:
    OF_TYPE(stream_copy)<<<blocks, THREADS, 0, stream>>>(a, c);
    break;
  case POLYAD_STREAM_SCALE:
    OF_TYPE(stream_scale)<<<blocks, THREADS, 0, stream>>>(s, c, b);
    break;
  case POLYAD_STREAM_ADD:
    OF_TYPE(stream_add)<<<blocks, THREADS, 0, stream>>>(a, b, c);
    break;
  case POLYAD_STREAM_TRIAD:
    OF_TYPE(stream_triad)<<<blocks, THREADS, 0, stream>>>(s, b, c, a);
    break;
  }
  return PD_GPU_LAST_ERROR();
}

#include "portable/real_types_end.h"
