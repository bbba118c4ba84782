/* Making a plan whose tensor stays on disk. */
#include "formats/format_text.h"
#include "io/formats.h"
#include "io/packed_file.h"
#include "linalg/linalg.h"
#include "plan/plan_create.h"
#include "plan/stream.h"
#include <stdio.h>
#include <string.h>

void polyad_stream_options_init(polyad_stream_options *options) {
  *options = (polyad_stream_options){0};
}

static polyad_status stream_create_check_request(polyad_context *context,
                                                 const struct pd_request *request,
                                                 const polyad_plan_options *options) {
  if (!request->device->functions->host_memory || request->second != NULL)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "device %s: a tensor streams from disk to the CPU alone; expected device cpu",
                   request->device->name);
  if (request->kernel != POLYAD_KERNEL_MTTKRP && request->kernel != POLYAD_KERNEL_PHI)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "a tensor streams for MTTKRP and Phi alone; expected one of these kernels");
  if (request->compute != POLYAD_COMPUTE_NATIVE)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "a tensor streams in its precision; expected the native compute type");
  bool plain = strcmp(request->variant, "auto") == 0 || strcmp(request->variant, "plain") == 0;
  if ((request->format != NULL && strcmp(request->format->name, "coo") != 0) || !plain)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "format %.200s cannot be streamed; expected \"auto\" or \"coo\"",
                   options->format);
  return POLYAD_OK;
}

static polyad_status copy_text(polyad_context *context, const char *text, char **copy) {
  size_t bytes = strlen(text) + 1;
  PD_TRY(PD_NEW(context, bytes, copy));
  memcpy(*copy, text, bytes);
  return POLYAD_OK;
}

static polyad_status stream_create_open_stream(polyad_context *context, const char *path,
                                               const polyad_stream_options *options,
                                               const struct pd_request *request,
                                               struct pd_stream *stream) {
  const char *directory = options->spill_directory;
  polyad_read_options read;
  polyad_read_options_init(&read);
  if (options->read != NULL) read = *options->read;
  read.type = request->precision;
  PD_TRY(copy_text(context, path, &stream->path));
  PD_TRY(
      copy_text(context, directory != NULL ? directory : pd_spill_directory(), &stream->directory));
  PD_TRY(pd_packed_file_open(context, stream->path, &read, stream->directory, &stream->file));
  stream->order = (int)stream->file.header.order;
  stream->nnz = stream->file.header.nnz;
  stream->type = request->precision;
  memcpy(stream->dims, stream->file.header.dims, sizeof stream->dims);
  if (stream->nnz > 0) return POLYAD_OK;
  return pd_fail_at(context, POLYAD_UNSUPPORTED, path, 0, 0,
                    "the tensor has no nonzeros; expected some to stream");
}

static void take_shape(const struct pd_stream *stream, const struct pd_request *request,
                       polyad_plan *plan) {
  plan->device = request->device;
  plan->compute = request->compute;
  plan->format = &pd_stream_format;
  plan->kernels = &pd_stream_kernels;
  plan->order = stream->order;
  plan->nnz = stream->nnz;
  plan->type = stream->type;
  memcpy(plan->dims, stream->dims, sizeof plan->dims);
  snprintf(plan->devices, sizeof plan->devices, "%s", request->device->name);
}

/* What a decomposition will have in use at most, or what making the plan had: a peak as high as
 * `before` is older than the plan. */
static uint64_t memory_of(polyad_context *context, const struct pd_stream *stream,
                          const struct pd_request *request, uint64_t before) {
  uint64_t row = pd_mul_saturated(request->rank, pd_type_bytes(stream->type));
  uint64_t total = polyad_memory_in_use(context), peak = polyad_memory_peak(context);
  for (int n = 0; n < stream->order; ++n)
    total = pd_add_saturated(total, pd_mul_saturated(2 * stream->dims[n], row));
  total = pd_add_saturated(total, pd_stream_kernels.walks[0]->workspace_bytes(
                                      stream, &request->rank, polyad_threads(context)));
  total = pd_add_saturated(
      total, request->device->linalg->work_bytes(request->rank, polyad_threads(context)));
  return total > peak || peak == before ? total : peak;
}

static void stream_create_explain(polyad_plan *plan, const struct pd_stream *stream) {
  char memory[32], disk[32];
  snprintf(plan->explanation, sizeof plan->explanation,
           "streams from disk: %llu nonzeros in %llu chunks of up to %llu for each mode, %s in the "
           "spill file in %.200s; at most %s of memory in CP-ALS",
           (unsigned long long)stream->nnz, (unsigned long long)stream->chunks,
           (unsigned long long)stream->chunk_nnz, pd_bytes_text(disk, stream->lists_bytes),
           stream->directory, pd_bytes_text(memory, stream->memory_bytes));
}

static polyad_status stream_create_fill(polyad_context *context, const char *path,
                                        const polyad_stream_options *options,
                                        const struct pd_request *request, polyad_plan *plan) {
  struct pd_stream *stream;
  struct pd_stream_facts facts = {0};
  polyad_status status = POLYAD_OK;
  uint64_t before = polyad_memory_peak(context);
  PD_TRY(PD_NEW_ZERO(context, 1, &stream));
  stream->spill.file = stream->file.source.file = -1;
  stream->file.context = context;
  plan->storage = plan->on_device = stream;
  plan->format = &pd_stream_format;
  PD_TRY(stream_create_open_stream(context, path, options, request, stream));
  take_shape(stream, request, plan);
  PD_TRY_CLEANUP(pd_stream_look(context, stream, plan, &facts));
  plan->value_exponent = stream->value_exponent = pd_plan_scaling(plan);
  PD_TRY_CLEANUP(pd_stream_choose(context, stream, request, options->chunk_nonzeros));
  PD_TRY_CLEANUP(pd_stream_build(context, stream, request, plan, &facts));
  pd_ptn_blocks_shrink(&stream->file);
  plan->format->describe(stream, request->first_mode, plan->variant);
  stream->memory_bytes = memory_of(context, stream, request, before);
  stream_create_explain(plan, stream);
  pd_log(context, POLYAD_LOG_INFO, "%s", plan->explanation);
cleanup:
  pd_stream_facts_clear(context, &facts);
  return status;
}

polyad_status polyad_plan_create_from_file(polyad_context *context, const char *path,
                                           const polyad_plan_options *options,
                                           const polyad_stream_options *stream,
                                           polyad_plan **plan) {
  PD_ENTER(context);
  if (path == NULL || plan == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "path or plan is NULL");
  *plan = NULL;
  const polyad_stream_options usual = {0};
  struct pd_format_text text;
  struct pd_request request;
  polyad_plan *made;
  PD_TRY(pd_plan_make_request(context, options, &text, &request));
  PD_TRY(stream_create_check_request(context, &request, options));
  PD_TRY(PD_NEW_ZERO(context, 1, &made));
  made->context = context;
  polyad_status status =
      stream_create_fill(context, path, stream == NULL ? &usual : stream, &request, made);
  if (status == POLYAD_OK)
    *plan = made;
  else
    polyad_plan_destroy(made);
  return status;
}

void polyad_plan_stream_info(const polyad_plan *plan, polyad_stream_info *info) {
  *info = (polyad_stream_info){0};
  if (plan->format != &pd_stream_format) return;
  const struct pd_stream *stream = plan->storage;
  info->streamed = 1;
  info->chunks = stream->chunks;
  info->chunk_nonzeros = stream->chunk_nnz;
  info->spilled_bytes = stream->lists_bytes;
  info->packed_bytes = stream->file.copied ? stream->file.header.file_bytes : 0;
  info->memory_bytes = stream->memory_bytes;
  info->tensor_hash = plan->tensor_hash;
  for (int n = 0; n < stream->order; ++n)
    for (uint64_t k = 0; k < stream->chunks; ++k)
      info->pass_bytes[n] += stream->chunk[n][k].bytes;
}

/* What the packed copy of text does not have: labels. */
static polyad_status bare_outline(polyad_context *context, const polyad_plan *plan,
                                  polyad_tensor **outline) {
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  input.order = plan->order;
  input.dims = plan->dims;
  return polyad_tensor_create(context, &input, outline);
}

polyad_status polyad_plan_stream_outline(polyad_context *context, const polyad_plan *plan,
                                         const char *labels, polyad_tensor **outline) {
  PD_ENTER(context);
  if (plan == NULL || outline == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "plan or outline is NULL");
  *outline = NULL;
  if (plan->format != &pd_stream_format)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "the plan's tensor is in memory; expected one "
                   "that streams");
  const struct pd_stream *stream = plan->storage;
  polyad_tensor *made = NULL;
  polyad_read_options read;
  polyad_read_options_init(&read);
  read.labels = labels;
  PD_TRY(stream->file.copied ? bare_outline(context, plan, &made)
                             : polyad_tensor_read_outline(context, stream->path, &made));
  polyad_status status = pd_labels_attach(context, stream->path, &read, made);
  if (status == POLYAD_OK)
    *outline = made;
  else
    polyad_tensor_destroy(made);
  return status;
}
