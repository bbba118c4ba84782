/* See host_newton.h. */
#include "unit/host_newton.h"
#include "harness.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 8 };

static int block_threads = 1, block_batch = 4;
static pthread_barrier_t barrier;

static void wait_for_block(int threads) {
  if (threads > 1) pthread_barrier_wait(&barrier);
}

#define PD_BLOCK_FUNCTION static inline
#define PD_BLOCK_SYNC(block) wait_for_block((block)->threads)
#include "linalg/newton_block.h"

void host_newton_block(int threads, int batch) {
  assert_true(threads <= MOST_THREADS);
  block_threads = threads;
  block_batch = batch;
}

struct pd_newton_work {
  const struct pd_device *device;
  double *memory;
};

static struct pd_newton_shape shape_of(const struct pd_newton_options *options) {
  const struct pd_newton_job job = pd_newton_job_of(options);
  return pd_newton_shape(&job, block_threads, block_batch);
}

static uint64_t work_bytes(const struct pd_device *device,
                           const struct pd_newton_options *options) {
  (void)device;
  return shape_of(options).numbers * sizeof(double);
}

static void work_destroy(polyad_context *context, struct pd_newton_work *work) {
  if (work == NULL) return;
  work->device->functions->release(context, work->device, work->memory);
  free(work);
}

static polyad_status work_create(polyad_context *context, const struct pd_device *device,
                                 const struct pd_newton_options *options,
                                 struct pd_newton_work **out) {
  struct pd_newton_work *work = calloc(1, sizeof *work);
  assert_non_null(work);
  work->device = device;
  *out = NULL;
  polyad_status status = device->functions->allocate(context, device, work_bytes(device, options),
                                                     (void **)&work->memory);
  if (status == POLYAD_OK)
    *out = work;
  else
    work_destroy(context, work);
  return status;
}

static uint64_t row_of(const struct pd_row_list *list, uint64_t q) {
  uint64_t p = list->order != NULL ? list->order[q] : q;
  return (list->row.plane[p] >> list->row.shift) & list->row.mask;
}

static polyad_status find_rows(polyad_context *context, const struct pd_device *device,
                               const struct pd_row_list *list, uint64_t rows, uint64_t *first,
                               uint64_t *end) {
  (void)context, (void)device;
  memset(first, 0, rows * sizeof *first);
  memset(end, 0, rows * sizeof *end);
  for (uint64_t q = 0; q < list->nnz; ++q) {
    uint64_t row = row_of(list, q);
    if (end[row] == 0) first[row] = q;
    assert_true(end[row] == 0 || end[row] == q); /* they stand together */
    end[row] = q + 1;
  }
  return POLYAD_OK;
}

struct lane {
  pthread_t thread;
  struct pd_newton_block block;
  struct pd_newton_found found;
};

static void *solve_rows(void *pointer) {
  struct lane *lane = pointer;
  for (uint64_t i = 0; i < lane->block.job->rows; ++i) {
    struct pd_newton_row row = newton_solve_row(&lane->block, i);
    if (!(row.kkt <= lane->found.kkt)) lane->found.kkt = row.kkt;
    lane->found.inner += row.inner;
    lane->found.changed = lane->found.changed || row.changed;
  }
  return NULL;
}

static polyad_status solve(polyad_context *context, struct pd_newton_work *work,
                           const struct pd_newton_options *options,
                           const struct pd_newton_mode *mode, struct pd_newton_found *found) {
  (void)context;
  struct pd_newton_job job = pd_newton_job_of(options);
  const struct pd_newton_shape shape = shape_of(options);
  struct lane lane[MOST_THREADS] = {0};
  pd_newton_take_mode(mode, &job);
  assert_int_equal(pthread_barrier_init(&barrier, NULL, (unsigned)shape.threads), 0);
  for (int t = 0; t < shape.threads; ++t) {
    struct pd_newton_block *block = &lane[t].block;
    *block = (struct pd_newton_block){
        .job = &job, .shape = &shape, .thread = t, .threads = shape.threads};
    block->room = newton_cut_up(&job, &shape, work->memory);
    if (t > 0) assert_int_equal(pthread_create(&lane[t].thread, NULL, solve_rows, &lane[t]), 0);
  }
  solve_rows(&lane[0]);
  for (int t = 1; t < shape.threads; ++t)
    assert_int_equal(pthread_join(lane[t].thread, NULL), 0);
  pthread_barrier_destroy(&barrier);
  for (int t = 1; t < shape.threads; ++t) /* all have gone the same way */
    assert_int_equal(lane[t].found.inner, lane[0].found.inner);
  *found = lane[0].found;
  return POLYAD_OK;
}

const struct pd_newton host_newton = {.work_bytes = work_bytes,
                                      .work_create = work_create,
                                      .work_destroy = work_destroy,
                                      .find_rows = find_rows,
                                      .solve = solve};
