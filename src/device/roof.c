/* Measuring what bounds kernels on the context's device. */
#include "device/roof.h"
#include "core/random.h"
#include "device/device.h"
#include <string.h>

enum {
  GATHERED_BYTES = 1 << 30,
  GATHERED_LEAST = 1 << 16,
  GATHERED_MOST = 1 << 24,
  RESULT_BYTES = 32 << 20,
  FLOPS_STEPS = 1 << 12
};

/* The job and where its arrays are. */
struct roof {
  polyad_context *context;
  const struct pd_device *device;
  struct pd_roof_job job;
  void *index;
};

static polyad_status roof_allocate(struct roof *roof, uint64_t bytes, void **out) {
  const struct pd_device_functions *functions = roof->device->functions;
  PD_TRY(functions->allocate(roof->context, roof->device, bytes, out));
  return functions->fill_zero(roof->context, roof->device, *out, bytes);
}

/* Rows in random order; enough of them to read about a gibibyte. */
static polyad_status make_table(struct roof *roof, uint64_t bytes) {
  struct pd_roof_job *job = &roof->job;
  uint64_t row = job->rank * pd_type_bytes(job->type);
  uint32_t *index;
  job->rows = bytes / row < 1 ? 1 : bytes / row;
  job->count = GATHERED_BYTES / row;
  if (job->count < GATHERED_LEAST) job->count = GATHERED_LEAST;
  if (job->count > GATHERED_MOST) job->count = GATHERED_MOST;
  if (strcmp(roof->device->kind, "cpu") == 0) job->count /= 8;
  if (job->rows > UINT32_MAX)
    return pd_fail(roof->context, POLYAD_OVERFLOW, "a table of %llu rows is too long",
                   (unsigned long long)job->rows);
  PD_TRY(roof_allocate(roof, pd_mul_saturated(job->rows, row), &job->table));
  PD_TRY(roof_allocate(roof, RESULT_BYTES, &job->other));
  PD_TRY(roof_allocate(roof, job->count * sizeof *index, &roof->index));
  PD_TRY(PD_NEW(roof->context, job->count, &index));
  int threads = polyad_threads(roof->context);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t k = 0; k < job->count; ++k)
    index[k] = (uint32_t)(pd_random_u64(7, 1, k) % job->rows);
  polyad_status status = roof->device->functions->copy_in(roof->context, roof->device, roof->index,
                                                          index, job->count * sizeof *index);
  if (status == POLYAD_OK)
    status = roof->device->functions->synchronize(roof->context, roof->device);
  pd_free(roof->context, index);
  job->index = roof->index;
  return status;
}

static polyad_status roof_prepare(struct roof *roof, uint64_t bytes, double *work) {
  struct pd_roof_job *job = &roof->job;
  double item = (double)pd_type_bytes(job->type);
  if (job->what == POLYAD_ROOF_FLOPS) {
    job->count = strcmp(roof->device->kind, "cpu") == 0 ? FLOPS_STEPS / 32 : FLOPS_STEPS;
    *work = 2.0 * PD_ROOF_FLOPS_THREADS * (double)job->count * PD_ROOF_FLOPS_SUMS;
    return roof_allocate(roof, RESULT_BYTES, &job->other);
  }
  if (job->what == POLYAD_ROOF_COPY) {
    job->bytes = bytes / 2 < 4096 ? 4096 : bytes / 2;
    *work = 2 * (double)job->bytes;
    PD_TRY(roof_allocate(roof, job->bytes, &job->table));
    return roof_allocate(roof, job->bytes, &job->other);
  }
  PD_TRY(make_table(roof, bytes));
  *work = (double)job->count * (double)job->rank;
  if (job->what == POLYAD_ROOF_GATHER) *work *= item;
  return POLYAD_OK;
}

static polyad_status roof_run(struct roof *roof, double *seconds) {
  const struct pd_device_functions *functions = roof->device->functions;
  PD_TRY(functions->synchronize(roof->context, roof->device));
  double begin = pd_seconds();
  if (functions->timer_start != NULL) PD_TRY(functions->timer_start(roof->context, roof->device));
  PD_TRY(functions->roof(roof->context, roof->device, &roof->job));
  if (functions->timer_stop != NULL)
    return functions->timer_stop(roof->context, roof->device, seconds);
  PD_TRY(functions->synchronize(roof->context, roof->device));
  *seconds = pd_seconds() - begin;
  return POLYAD_OK;
}

static void roof_clear(struct roof *roof) {
  void *arrays[] = {roof->job.table, roof->job.other, roof->index};
  for (int k = 0; k < 3; ++k)
    if (arrays[k] != NULL) roof->device->functions->release(roof->context, roof->device, arrays[k]);
}

polyad_status polyad_roof_measure(polyad_context *context, polyad_roof what, polyad_type type,
                                  uint64_t rank, uint64_t bytes, int runs, double *seconds,
                                  double *work) {
  PD_ENTER(context);
  if (what < POLYAD_ROOF_COPY || what > POLYAD_ROOF_FLOPS || rank < 1 || rank > 1 << 20 ||
      runs < 1 || seconds == NULL || work == NULL || (type != POLYAD_F32 && type != POLYAD_F64))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "roof %d of rank %llu, type %d, %d runs found; expected POLYAD_ROOF_COPY to "
                   "POLYAD_ROOF_FLOPS, rank 1 to 2^20, a type, and at least one run",
                   (int)what, (unsigned long long)rank, (int)type, runs);
  struct roof roof = {.context = context, .job = {.what = what, .type = type, .rank = rank}};
  PD_TRY(pd_device_of(context, &roof.device));
  if (roof.device->functions->roof == NULL)
    return pd_fail(context, POLYAD_UNSUPPORTED, "device %s has no roofs to measure",
                   roof.device->name);
  polyad_status status = POLYAD_OK;
  double warm_up;
  PD_TRY_CLEANUP(roof_prepare(&roof, bytes, work));
  PD_TRY_CLEANUP(roof_run(&roof, &warm_up));
  for (int k = 0; k < runs; ++k)
    PD_TRY_CLEANUP(roof_run(&roof, &seconds[k]));
cleanup:
  roof_clear(&roof);
  return status;
}
