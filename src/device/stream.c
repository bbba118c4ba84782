/* STREAM on the context's device. */
#include "core/numbers.h"
#include "device/device.h"
#include "portable/portable.h"
#include <math.h>

struct polyad_stream {
  polyad_context *context;
  const struct pd_device *device;
  struct pd_stream_job job;
};

/* Numbers whose sums and products are exact, so that both ways of computing them agree. */
static double pattern(int array, uint64_t k) { return (double)(k % 61 + 1) + 64.0 * array; }

/* A prefix is filled and checked through a buffer of the host: what a device calls a pointer may be
 * a handle, which has no middle. */
enum { PREFIX_MOST = 1 << 24 };

static uint64_t prefix_of(const polyad_stream *stream) {
  return stream->job.count < PREFIX_MOST ? stream->job.count : PREFIX_MOST;
}

static polyad_status stream_fill(polyad_stream *stream, int array, void *host) {
  void *to[] = {stream->job.a, stream->job.b, stream->job.c};
  const struct pd_device_functions *functions = stream->device->functions;
  uint64_t count = prefix_of(stream);
  for (uint64_t k = 0; k < count; ++k)
    pd_store(stream->job.type, host, k, pattern(array, k));
  PD_TRY(functions->copy_in(stream->context, stream->device, to[array], host,
                            count * pd_type_bytes(stream->job.type)));
  return functions->synchronize(stream->context, stream->device);
}

static polyad_status fill_all(polyad_stream *stream) {
  void *host = NULL;
  PD_TRY(pd_alloc(stream->context, prefix_of(stream), pd_type_bytes(stream->job.type), &host));
  polyad_status status = POLYAD_OK;
  for (int array = 0; array < 3 && status == POLYAD_OK; ++array)
    status = stream_fill(stream, array, host);
  pd_free(stream->context, host);
  return status;
}

static polyad_status stream_allocate(polyad_stream *stream, void **out) {
  const struct pd_device_functions *functions = stream->device->functions;
  uint64_t bytes;
  if (!pd_mul(stream->job.count, pd_type_bytes(stream->job.type), &bytes))
    return pd_fail(stream->context, POLYAD_OVERFLOW, "%llu numbers are too many for an array",
                   (unsigned long long)stream->job.count);
  PD_TRY(functions->allocate(stream->context, stream->device, bytes, out));
  return functions->fill_zero(stream->context, stream->device, *out, bytes);
}

polyad_status polyad_stream_create(polyad_context *context, uint64_t count, polyad_type type,
                                   polyad_stream **result) {
  PD_ENTER(context);
  polyad_status status = POLYAD_OK;
  polyad_stream *stream = NULL;
  if (result == NULL || count < 1 || (type != POLYAD_F32 && type != POLYAD_F64))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "a count of %llu and type %d found; expected at least one number of type "
                   "POLYAD_F32 or POLYAD_F64",
                   (unsigned long long)count, (int)type);
  *result = NULL;
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, 1, &stream));
  stream->context = context;
  PD_TRY_CLEANUP(pd_device_of(context, &stream->device));
  if (stream->device->functions->stream == NULL) {
    status = pd_fail(context, POLYAD_UNSUPPORTED, "device %s has no loops of STREAM",
                     stream->device->name);
    goto cleanup;
  }
  uint64_t units = count / PD_STREAM_UNIT + (count % PD_STREAM_UNIT != 0);
  stream->job = (struct pd_stream_job){
      .type = type, .count = pd_mul_saturated(units, PD_STREAM_UNIT), .scalar = 3.0};
  PD_TRY_CLEANUP(stream_allocate(stream, &stream->job.a));
  PD_TRY_CLEANUP(stream_allocate(stream, &stream->job.b));
  PD_TRY_CLEANUP(stream_allocate(stream, &stream->job.c));
  PD_TRY_CLEANUP(fill_all(stream));
  *result = stream;
  stream = NULL;
cleanup:
  polyad_stream_destroy(stream);
  return status;
}

void polyad_stream_destroy(polyad_stream *stream) {
  if (stream == NULL) return;
  void *arrays[] = {stream->job.a, stream->job.b, stream->job.c};
  for (int k = 0; k < 3; ++k)
    if (arrays[k] != NULL)
      stream->device->functions->release(stream->context, stream->device, arrays[k]);
  pd_free(stream->context, stream);
}

int polyad_stream_has(const polyad_stream *stream, int portable) {
  return stream->device->functions->has_stream[portable != 0];
}

double polyad_stream_bytes(const polyad_stream *stream, polyad_stream_loop loop) {
  int arrays = loop == POLYAD_STREAM_COPY || loop == POLYAD_STREAM_SCALE ? 2 : 3;
  return (double)stream->job.count * arrays * (double)pd_type_bytes(stream->job.type);
}

static polyad_status stream_run(polyad_stream *stream, polyad_stream_loop loop, int portable,
                                double *seconds) {
  const struct pd_device_functions *functions = stream->device->functions;
  if (!polyad_stream_has(stream, portable))
    return pd_fail(stream->context, POLYAD_UNSUPPORTED, "device %s has no %s loops of STREAM",
                   stream->device->name, portable ? "portable" : "tuned");
  stream->job.loop = loop;
  double begin = pd_seconds();
  if (functions->timer_start != NULL)
    PD_TRY(functions->timer_start(stream->context, stream->device));
  PD_TRY(functions->stream(stream->context, stream->device, &stream->job, portable != 0));
  if (functions->timer_stop != NULL)
    return functions->timer_stop(stream->context, stream->device, seconds);
  PD_TRY(functions->synchronize(stream->context, stream->device));
  *seconds = pd_seconds() - begin;
  return POLYAD_OK;
}

static polyad_status check_arguments(polyad_stream *stream, polyad_stream_loop loop,
                                     const double *out) {
  if (stream == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(stream->context);
  if (out == NULL || (int)loop < POLYAD_STREAM_COPY || loop > POLYAD_STREAM_TRIAD)
    return pd_fail(stream->context, POLYAD_INVALID_ARGUMENT,
                   "loop %d found; expected one of polyad_stream_loop and a place for the result",
                   (int)loop);
  return POLYAD_OK;
}

polyad_status polyad_stream_run(polyad_stream *stream, polyad_stream_loop loop, int portable,
                                double *seconds) {
  PD_TRY(check_arguments(stream, loop, seconds));
  return stream_run(stream, loop, portable, seconds);
}

/* What the loop makes of the patterns at place k. */
static double expected(polyad_stream_loop loop, double scalar, uint64_t k) {
  switch (loop) {
  case POLYAD_STREAM_COPY:
    return pattern(0, k);
  case POLYAD_STREAM_SCALE:
    return scalar * pattern(2, k);
  case POLYAD_STREAM_ADD:
    return pattern(0, k) + pattern(1, k);
  default:
    return pattern(1, k) + scalar * pattern(2, k);
  }
}

polyad_status polyad_stream_check(polyad_stream *stream, polyad_stream_loop loop, int portable,
                                  double *error) {
  PD_TRY(check_arguments(stream, loop, error));
  polyad_context *context = stream->context;
  polyad_status status = POLYAD_OK;
  void *host = NULL;
  double seconds;
  uint64_t count = prefix_of(stream);
  size_t size = pd_type_bytes(stream->job.type);
  PD_TRY_CLEANUP(pd_alloc(context, count, size, &host));
  for (int array = 0; array < 3; ++array)
    PD_TRY_CLEANUP(stream_fill(stream, array, host));
  PD_TRY_CLEANUP(stream_run(stream, loop, portable, &seconds));
  const void *to[] = {stream->job.c, stream->job.b, stream->job.c, stream->job.a};
  PD_TRY_CLEANUP(
      stream->device->functions->copy_out(context, stream->device, host, to[loop], count * size));
  *error = 0;
  for (uint64_t k = 0; k < count; ++k) {
    double want = expected(loop, stream->job.scalar, k);
    double off = fabs(pd_load(stream->job.type, host, k) - want) / want;
    if (!(off <= *error)) *error = off;
  }
cleanup:
  pd_free(context, host);
  return status;
}
