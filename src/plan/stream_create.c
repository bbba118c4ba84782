/* Making a plan whose tensor stays on disk. */
#include "device/device_registry.h"
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

/* What a device computes with. */
static const struct pd_stream_lists *stream_create_lists(const struct pd_device *device) {
  return device->functions->host_memory ? &pd_stream_rowsum_lists : &pd_stream_modecopy_lists;
}

static polyad_status stream_create_check_request(polyad_context *context,
                                                 const struct pd_request *request,
                                                 const polyad_plan_options *options) {
  const struct pd_device *device = request->device;
  struct pd_device_list devices;
  PD_TRY(pd_device_list_of(context, &devices));
  if (devices.count > 1)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "%d devices found; a tensor streams to one, the CPU or a GPU of CUDA",
                   devices.count);
  if (!device->functions->host_memory && pd_stream_inner(device) == NULL)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "a tensor does not stream to device %s; expected the CPU or a GPU of CUDA",
                   device->name);
  if (request->kernel != POLYAD_KERNEL_MTTKRP && request->kernel != POLYAD_KERNEL_PHI)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "a tensor streams for MTTKRP and Phi alone; expected one of these kernels");
  if (request->compute != POLYAD_COMPUTE_NATIVE)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "a tensor streams in its precision; expected the native compute type");
  const char *format = stream_create_lists(device)->format;
  bool plain = strcmp(request->variant, "auto") == 0 ||
               (device->functions->host_memory && strcmp(request->variant, "plain") == 0);
  if ((request->format != NULL && strcmp(request->format->name, format) != 0) || !plain)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "format %.200s cannot be streamed; expected \"auto\" or \"%s\"", options->format,
                   format);
  return POLYAD_OK;
}

static polyad_status copy_text(polyad_context *context, const char *text, char **copy) {
  size_t bytes = strlen(text) + 1;
  PD_TRY(PD_NEW(context, bytes, copy));
  memcpy(*copy, text, bytes);
  return POLYAD_OK;
}

/* A device's kernels have indices of 32 bits; how many nonzeros there are is no matter, since a
 * chunk has few. */
static polyad_status check_dims(polyad_context *context, const struct pd_stream *stream,
                                const struct pd_request *request) {
  struct pd_traits traits = {.order = stream->order, .nnz = 1};
  char reason[PD_REASON_BYTES];
  if (request->device->functions->host_memory) return POLYAD_OK;
  memcpy(traits.dims, stream->dims, sizeof traits.dims);
  if (pd_ordered_supports(&traits, request, reason)) return POLYAD_OK;
  return pd_fail(context, POLYAD_UNSUPPORTED, "the tensor does not stream to %s: %s",
                 request->device->name, reason);
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
  stream->device = request->device;
  stream->lists = stream_create_lists(request->device);
  memcpy(stream->dims, stream->file.header.dims, sizeof stream->dims);
  if (stream->nnz == 0)
    return pd_fail_at(context, POLYAD_UNSUPPORTED, path, 0, 0,
                      "the tensor has no nonzeros; expected some to stream");
  return check_dims(context, stream, request);
}

static void take_shape(const struct pd_stream *stream, const struct pd_request *request,
                       polyad_plan *plan) {
  plan->device = request->device;
  plan->compute = request->compute;
  bool there = !request->device->functions->host_memory;
  plan->format = there ? &pd_stream_copies_format : &pd_stream_format;
  plan->kernels = there ? &pd_stream_kernels_there : &pd_stream_kernels;
  plan->order = stream->order;
  plan->nnz = stream->nnz;
  plan->type = stream->type;
  memcpy(plan->dims, stream->dims, sizeof plan->dims);
  snprintf(plan->devices, sizeof plan->devices, "%s", request->device->name);
}

/* Of the host, beside the factors of a model and their copies. */
static uint64_t host_bytes(const polyad_context *context, const struct pd_stream *stream,
                           uint64_t rank) {
  uint64_t device, host;
  if (stream->device->functions->host_memory)
    return pd_add_saturated(
        pd_stream_kernels.walks[0]->workspace_bytes(stream, &rank, polyad_threads(context)),
        stream->device->linalg->work_bytes(rank, polyad_threads(context)));
  pd_stream_there_bytes(stream, stream->chunk_nnz, stream->largest, rank, &device, &host);
  return host;
}

/* What a decomposition will have in use at most, or what making the plan had: a peak as high as
 * `before` is older than the plan. */
static uint64_t memory_of(polyad_context *context, const struct pd_stream *stream,
                          const struct pd_request *request, uint64_t before) {
  uint64_t row = pd_mul_saturated(request->rank, pd_type_bytes(stream->type));
  uint64_t total = polyad_memory_in_use(context), peak = polyad_memory_peak(context);
  for (int n = 0; n < stream->order; ++n)
    total = pd_add_saturated(total, pd_mul_saturated(2 * stream->dims[n], row));
  total = pd_add_saturated(total, host_bytes(context, stream, request->rank));
  return total > peak || peak == before ? total : peak;
}

static uint64_t device_bytes_of(const polyad_context *context, const struct pd_stream *stream,
                                const struct pd_request *request) {
  uint64_t device, host;
  if (stream->device->functions->memory_used == NULL) return 0;
  pd_stream_there_bytes(stream, stream->chunk_nnz, stream->largest, request->rank, &device, &host);
  uint64_t runs = pd_stream_device_bytes(context, stream, request, device);
  return runs > stream->built_bytes ? runs : stream->built_bytes;
}

/* ---- lists in memory --------------------------------------------------------------------------
 */

enum { KEPT_PIECE = 1 << 28 };

static polyad_status read_all(polyad_context *context, const struct pd_stream *stream, char *to) {
  for (uint64_t at = 0; at < stream->lists_bytes; at += KEPT_PIECE) {
    uint64_t left = stream->lists_bytes - at;
    if (pd_cancelled(context)) return pd_fail(context, POLYAD_CANCELLED, "planning was cancelled");
    PD_TRY(
        pd_spill_read(context, &stream->spill, at, left < KEPT_PIECE ? left : KEPT_PIECE, to + at));
  }
  return POLYAD_OK;
}

/* For a device the lists are kept in memory of the host where they take no more than half of what
 * is left: it reads them faster than any disk, and the room on the disk is free again. */
static polyad_status keep_lists(polyad_context *context, const struct pd_request *request,
                                struct pd_stream *stream) {
  uint64_t limit = polyad_memory_limit(context), used = polyad_memory_in_use(context);
  uint64_t left = limit > used ? limit - used : 0;
  char *kept;
  if (stream->device->functions->host_memory) return POLYAD_OK;
  uint64_t runs = host_bytes(context, stream, request->rank);
  left -= left < runs ? left : runs;
  if (stream->lists_bytes > left / 2) return POLYAD_OK;
  PD_TRY(pd_alloc(context, stream->lists_bytes, 1, (void **)&kept));
  polyad_status status = read_all(context, stream, kept);
  if (status != POLYAD_OK) {
    pd_free(context, kept);
    return status;
  }
  stream->kept = kept;
  pd_stream_pin(stream->device, kept, stream->lists_bytes, true);
  pd_spill_close(&stream->spill);
  return POLYAD_OK;
}

static void stream_create_explain(polyad_plan *plan, const struct pd_stream *stream) {
  char memory[32], lists[32], device[32], place[256] = "there";
  bool kept = stream->kept != NULL, there = !stream->device->functions->host_memory;
  if (!kept) snprintf(place, sizeof place, "in the spill file in %.200s", stream->directory);
  int length =
      snprintf(plan->explanation, sizeof plan->explanation,
               "streams from %s: %llu nonzeros in %llu chunks of up to %llu for each mode, "
               "%s %s; at most %s of memory in CP-ALS",
               kept ? "the host's memory" : "disk", (unsigned long long)stream->nnz,
               (unsigned long long)stream->chunks, (unsigned long long)stream->chunk_nnz,
               pd_bytes_text(lists, stream->lists_bytes), place,
               pd_bytes_text(memory, stream->memory_bytes));
  if (there)
    snprintf(plan->explanation + length, sizeof plan->explanation - (size_t)length,
             " and %s of that of %s", pd_bytes_text(device, plan->device_bytes),
             stream->device->name);
}

static polyad_status stream_create_fill(polyad_context *context, const char *path,
                                        const polyad_stream_options *options,
                                        const struct pd_request *request, bool keeps,
                                        polyad_plan *plan) {
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
  if (keeps) PD_TRY_CLEANUP(keep_lists(context, request, stream));
  plan->format->describe(stream, request->first_mode, plan->variant);
  stream->memory_bytes = memory_of(context, stream, request, before);
  plan->device_bytes = device_bytes_of(context, stream, request);
  stream_create_explain(plan, stream);
  pd_log(context, POLYAD_LOG_INFO, "%s", plan->explanation);
cleanup:
  pd_stream_facts_clear(context, &facts);
  return status;
}

polyad_status pd_stream_plan_create(polyad_context *context, const char *path,
                                    const polyad_stream_options *stream,
                                    const struct pd_request *request, bool keeps,
                                    polyad_plan **plan) {
  const polyad_stream_options usual = {0};
  polyad_plan *made;
  PD_TRY(PD_NEW_ZERO(context, 1, &made));
  made->context = context;
  polyad_status status =
      stream_create_fill(context, path, stream == NULL ? &usual : stream, request, keeps, made);
  if (status == POLYAD_OK)
    *plan = made;
  else
    polyad_plan_destroy(made);
  return status;
}

polyad_status polyad_plan_create_from_file(polyad_context *context, const char *path,
                                           const polyad_plan_options *options,
                                           const polyad_stream_options *stream,
                                           polyad_plan **plan) {
  PD_ENTER(context);
  PD_EXPECT(context, path != NULL && plan != NULL, "path or plan is NULL");
  *plan = NULL;
  struct pd_format_text text;
  struct pd_request request;
  PD_TRY(pd_plan_make_request(context, options, &text, &request));
  PD_TRY(stream_create_check_request(context, &request, options));
  return pd_stream_plan_create(context, path, stream, &request, true, plan);
}

uint64_t pd_plan_piece(const polyad_plan *plan) {
  return pd_plan_streams(plan) ? ((const struct pd_stream *)plan->storage)->chunk_nnz : plan->nnz;
}

void polyad_plan_stream_info(const polyad_plan *plan, polyad_stream_info *info) {
  *info = (polyad_stream_info){.tensor_hash = plan->tensor_hash};
  if (!pd_plan_streams(plan)) return;
  const struct pd_stream *stream = plan->storage;
  info->streamed = 1;
  info->chunks = stream->chunks;
  info->chunk_nonzeros = stream->chunk_nnz;
  info->spilled_bytes = stream->kept != NULL ? 0 : stream->lists_bytes;
  info->packed_bytes = stream->file.copied ? stream->file.header.file_bytes : 0;
  info->memory_bytes = stream->memory_bytes;
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
  PD_EXPECT(context, plan != NULL && outline != NULL, "plan or outline is NULL");
  *outline = NULL;
  PD_EXPECT(context, pd_plan_streams(plan),
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
