/* The CPU's compilation of the portable kernels, once per instruction set: the includer defines
 * PD_CPU_TABLE. */
#include "portable/backend_cpu.h"
#include "portable/portable.h"

#define PD_LAUNCHER "portable/launch_cpu.h"
#define PD_PLANE_ARGUMENT(k) at->plane[k]
#define PD_FACTOR_ARGUMENT(k) at->factor[k]
#define PD_F64 0
#include "portable/instances_rows.h"
#include "portable/kernels_join.h"
#include "portable/kernels_stream.h"
#undef PD_F64
#define PD_F64 1
#include "portable/instances_rows.h"
#include "portable/kernels_join.h"
#include "portable/kernels_stream.h"
#undef PD_F64

/* Runs a kernel for `items` work items, in parts that threads take in order; few are done sooner
 * than a second thread begins. */
enum { PD_CPU_FEW = 1 << 14 };
#define PD_CPU_RUN(items, threads, call)                                                           \
  do {                                                                                             \
    const uint64_t pd_items = (items);                                                             \
    _Pragma("omp parallel num_threads(threads) if (pd_items > PD_CPU_FEW)") {                      \
      _Pragma("omp for schedule(static)") for (uint64_t item = 0; item < pd_items; ++item) call;   \
      __atomic_thread_fence(__ATOMIC_SEQ_CST); /* stores past the cache are done */                \
    }                                                                                              \
  } while (0)

#define PD_CPU_STREAM(REAL, S)                                                                     \
  static void stream_##S(const struct pd_stream_job *job, int threads) {                           \
    REAL *a = job->a, *b = job->b, *c = job->c, s = (REAL)job->scalar;                             \
    uint64_t items = job->count / PD_WIDTH_##S;                                                    \
    switch (job->loop) {                                                                           \
    case POLYAD_STREAM_COPY:                                                                       \
      PD_CPU_RUN(items, threads, stream_copy_##S(item, a, c));                                     \
      break;                                                                                       \
    case POLYAD_STREAM_SCALE:                                                                      \
      PD_CPU_RUN(items, threads, stream_scale_##S(item, s, c, b));                                 \
      break;                                                                                       \
    case POLYAD_STREAM_ADD:                                                                        \
      PD_CPU_RUN(items, threads, stream_add_##S(item, a, b, c));                                   \
      break;                                                                                       \
    case POLYAD_STREAM_TRIAD:                                                                      \
      PD_CPU_RUN(items, threads, stream_triad_##S(item, s, b, c, a));                              \
      break;                                                                                       \
    }                                                                                              \
  }
PD_CPU_STREAM(float, f32)
PD_CPU_STREAM(double, f64)

static void stream(const struct pd_stream_job *job, int threads) {
  if (job->type == POLYAD_F32)
    stream_f32(job, threads);
  else
    stream_f64(job, threads);
}

typedef void rows_run(const struct pd_rows_launch *launch, int threads);
static rows_run *const runs[2][PD_ROWS_KINDS][PD_ROWS_CLASSES][PD_ROWS_TILES] = {PD_RUN_TABLE(0),
                                                                                 PD_RUN_TABLE(1)};

/* Kernels with a work item per entry. */
#define PD_CPU_ENTRIES(S)                                                                          \
  static void entries_##S(const struct pd_rows_launch *launch, int threads) {                      \
    const struct pd_rows_job *job = &launch->job;                                                  \
    const struct pd_rows_pointers *at = &launch->at;                                               \
    if (launch->what == PD_ROWS_JOIN)                                                              \
      PD_CPU_RUN(launch->groups, threads,                                                          \
                 join_rows_##S(item, *job, at->row_start, at->row_id, at->chunk_row, at->head,     \
                               at->tail, at->out));                                                \
    else if (launch->what == PD_ROWS_GAINS)                                                        \
      PD_CPU_RUN(launch->groups, threads,                                                          \
                 sum_gains_##S(item, launch->rows, job->segment, at->head, at->out));              \
    else                                                                                           \
      PD_CPU_RUN(launch->groups, threads,                                                          \
                 zero_rows_##S(item, *job, at->used, launch->rows, at->out));                      \
  }
PD_CPU_ENTRIES(f32)
PD_CPU_ENTRIES(f64)

static void rows(const struct pd_rows_launch *launch, int threads) {
  int wide = launch->type == POLYAD_F64;
  if (launch->what < PD_ROWS_JOIN)
    runs[wide][launch->what][launch->inputs_class][launch->tile](launch, threads);
  else if (wide)
    entries_f64(launch, threads);
  else
    entries_f32(launch, threads);
}

#define PD_CPU_COLUMNS(S)                                                                          \
  {                                                                                                \
    PD_TILE0_VECTORS *PD_WIDTH_##S, PD_TILE1_VECTORS *PD_WIDTH_##S,                                \
        PD_TILE2_VECTORS *PD_WIDTH_##S, PD_TILE1_VECTORS *PD_WIDTH_##S                             \
  }

const struct pd_portable_cpu PD_CPU_TABLE = {
    .shape = {.columns = {[POLYAD_F32] = PD_CPU_COLUMNS(f32), [POLYAD_F64] = PD_CPU_COLUMNS(f64)},
              .groups = {1, 1, 1, 1},
              .alignment = 1},
    .stream = stream,
    .rows = rows};
