/* A tensor of a caller's arrays on a GPU. They are checked and copied there into words of 32 bits
 * and values of the plan's type, sorted by their coordinates, and repeats are merged, in the way of
 * tensor_create.c and tensor_merge.c on the host. What comes out can be built from as if a tensor
 * of the host had been brought. Nothing but sums and what is wrong goes to the host. */
#include "device/cuda/cuda_arrays_launch.h"
#include "device/cuda/cuda_build.h"
#include "device/cuda/cuda_copy.h"
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Squares of magnitudes between these neither overflow when summed nor vanish beside the largest.
 */
static const double SAFE_MIN = 0x1p-400, SAFE_MAX = 0x1p440;

static size_t index_bytes(polyad_index_type type) {
  return type == POLYAD_I32 || type == POLYAD_U32 ? 4 : 8;
}

/* ---- the caller's memory ----------------------------------------------------------------------
 */

/* `item` bytes at every place of an array must be readable by kernels of this GPU as one number. */
static polyad_status check_array(polyad_context *context, const struct pd_device *device,
                                 const char *what, const void *array, int64_t stride, size_t item) {
  const struct pd_services *core = pd_cuda_services;
  struct cudaPointerAttributes about;
  PD_CUDA_ENTER(context, device);
  PD_TRY(PD_CUDA(context, state, cudaPointerGetAttributes(&about, array)));
  if (about.type != cudaMemoryTypeDevice && about.type != cudaMemoryTypeManaged)
    return core->fail(context, POLYAD_INVALID_ARGUMENT,
                      "the array of %s lies in memory of the host; expected memory of %s", what,
                      device->name);
  if (about.type == cudaMemoryTypeDevice && about.device != device->index)
    return core->fail(context, POLYAD_INVALID_ARGUMENT,
                      "the array of %s lies on GPU %d; expected memory of %s", what, about.device,
                      device->name);
  if ((uintptr_t)array % item != 0 || stride % (int64_t)item != 0)
    return core->fail(context, POLYAD_INVALID_ARGUMENT,
                      "the array of %s has items %" PRId64 " bytes apart and not at multiples of "
                      "their size; expected a multiple of %zu bytes",
                      what, stride, item);
  return POLYAD_OK;
}

static polyad_status cuda_arrays_check(polyad_context *context, const struct pd_device *device,
                                       const polyad_tensor_input *input) {
  char what[32];
  for (int n = 0; n < input->order; ++n) {
    snprintf(what, sizeof what, "mode %d", pd_cuda_services->shown_mode(context, n));
    PD_TRY(check_array(context, device, what, input->index[n], input->index_stride[n],
                       index_bytes(input->index_type)));
  }
  if (input->values == NULL) return POLYAD_OK;
  return check_array(context, device, "values", input->values, input->value_stride,
                     pd_type_bytes(input->value_type));
}

/* ---- copying ----------------------------------------------------------------------------------
 */

static polyad_status cuda_arrays_fail_index(polyad_context *context, const struct pd_device *device,
                                            const polyad_tensor_input *input, int mode, uint64_t p,
                                            uint64_t limit) {
  const struct pd_services *core = pd_cuda_services;
  const char *place = (const char *)input->index[mode] + (int64_t)p * input->index_stride[mode];
  int base = core->shown_mode(context, 0);
  int64_t index = 0;
  PD_TRY(pd_cuda_copy_out(context, device, &index, place, index_bytes(input->index_type)));
  if (input->index_type == POLYAD_I32) index = (int32_t)index;
  return core->fail(context, POLYAD_INVALID_ARGUMENT,
                    "nonzero %" PRIu64 " has index %" PRId64 " in mode %d; expected %d to %" PRIu64
                    " (all counted from %d)",
                    p + (uint64_t)base, index + base, core->shown_mode(context, mode), base,
                    limit - 1 + (uint64_t)base, base);
}

static polyad_status cuda_arrays_fail_value(polyad_context *context, const struct pd_device *device,
                                            const polyad_tensor_input *input, uint64_t p) {
  const struct pd_services *core = pd_cuda_services;
  const char *place = (const char *)input->values + (int64_t)p * input->value_stride;
  int base = core->shown_mode(context, 0);
  double wide;
  float narrow;
  if (input->value_type == POLYAD_F32) {
    PD_TRY(pd_cuda_copy_out(context, device, &narrow, place, sizeof narrow));
    wide = (double)narrow;
  } else
    PD_TRY(pd_cuda_copy_out(context, device, &wide, place, sizeof wide));
  if (isfinite(wide))
    return core->fail(context, POLYAD_NUMERICAL,
                      "nonzero %" PRIu64 " (counted from %d) has value %.17g, which does not fit "
                      "float32; expected at most 3.4e38 in magnitude, or float64",
                      p + (uint64_t)base, base, wide);
  return core->fail(context, POLYAD_INVALID_ARGUMENT,
                    "nonzero %" PRIu64 " (counted from %d) has value %g; expected a finite number",
                    p + (uint64_t)base, base, wide);
}

/* The largest index that a mode may have, and one more. */
static uint64_t limit_of(const polyad_tensor_input *input, int mode) {
  return input->dims != NULL ? input->dims[mode] : INT32_MAX;
}

/* Indices and values as a build has them, and the lengths of the modes. */
static polyad_status cuda_arrays_copy(polyad_context *context, const polyad_tensor_input *input,
                                      struct pd_build *build, struct pd_gpu_arrays_found *there) {
  struct pd_gpu_arrays_found found;
  PD_CUDA_ENTER(context, build->device);
  for (int n = 0; n < build->order; ++n) {
    PD_TRY(pd_cuda_allocate(context, build->device, build->nnz, 4, (void **)&build->index[n]));
    PD_TRY(PD_CUDA(context, state,
                   pd_gpu_arrays_index(input->index[n], input->index_stride[n], input->index_type,
                                       build->nnz, limit_of(input, n), build->index[n],
                                       &there->largest[n], &there->bad_index[n], stream)));
  }
  PD_TRY(pd_cuda_allocate(context, build->device, build->nnz, pd_type_bytes(build->type),
                          &build->values));
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_arrays_values(input->values, input->value_stride, input->value_type,
                                      build->nnz, build->values, build->type, &there->bad_value,
                                      stream)));
  PD_TRY(pd_cuda_copy_out(context, build->device, &found, there, sizeof found));
  for (int n = 0; n < build->order; ++n) {
    if (found.bad_index[n] != UINT64_MAX)
      return cuda_arrays_fail_index(context, build->device, input, n, found.bad_index[n],
                                    limit_of(input, n));
    build->dims[n] = input->dims != NULL ? input->dims[n] : found.largest[n] + 1;
  }
  return found.bad_value == UINT64_MAX
             ? POLYAD_OK
             : cuda_arrays_fail_value(context, build->device, input, found.bad_value);
}

/* ---- merging ----------------------------------------------------------------------------------
 */

/* Names the coordinate of a run that cannot be merged. */
static polyad_status fail_run(polyad_context *context, const struct pd_build *build,
                              const struct pd_gpu_arrays_runs *of, uint64_t run) {
  const struct pd_services *core = pd_cuda_services;
  uint32_t span[2], p, index;
  char text[12 * POLYAD_MAX_ORDER + 8] = "(";
  PD_TRY(pd_cuda_copy_out(context, build->device, span, of->start + run, sizeof span));
  p = span[0];
  if (of->permutation != NULL)
    PD_TRY(pd_cuda_copy_out(context, build->device, &p, of->permutation + span[0], sizeof p));
  for (int n = 0; n < build->order; ++n) {
    size_t length = strlen(text);
    PD_TRY(pd_cuda_copy_out(context, build->device, &index, build->index[n] + p, sizeof index));
    snprintf(text + length, sizeof text - length, "%s%" PRIu32, n == 0 ? "" : ", ", index + 1);
  }
  if (of->duplicates == POLYAD_DUPLICATES_ERROR)
    return core->fail(context, POLYAD_INVALID_ARGUMENT,
                      "coordinate %s) (counted from 1) occurs %" PRIu32
                      " times; expected once, or another policy for repeats",
                      text, span[1] - span[0]);
  return core->fail(context, POLYAD_NUMERICAL,
                    "the sum of the %" PRIu32 " values at coordinate %s) (counted from 1) is too "
                    "large for %s; expected a finite sum",
                    span[1] - span[0], text, build->type == POLYAD_F32 ? "float32" : "float64");
}

/* Puts what stays of an array in its place. */
static polyad_status keep_array(polyad_context *context, struct pd_build *build,
                                const struct pd_gpu_arrays_runs *of, int mode, uint64_t kept) {
  void *old = mode < 0 ? build->values : build->index[mode], *to;
  PD_CUDA_ENTER(context, build->device);
  PD_TRY(pd_cuda_allocate(context, build->device, kept,
                          mode < 0 ? pd_type_bytes(build->type) : sizeof(uint32_t), &to));
  if (mode < 0)
    build->values = to;
  else
    build->index[mode] = to;
  polyad_status status = PD_CUDA(context, state,
                                 mode < 0 ? pd_gpu_arrays_keep_values(of, to, stream)
                                          : pd_gpu_arrays_keep_index(of, old, to, stream));
  pd_cuda_release(context, build->device, old); /* waits */
  return status;
}

/* Merges the runs, and keeps what stays: the tensor is sorted afterwards. */
static polyad_status merge_runs(polyad_context *context, struct pd_build *build,
                                struct pd_gpu_arrays_runs *of, struct pd_gpu_arrays_found *there) {
  struct pd_gpu_arrays_found found;
  size_t bytes = 0;
  uint32_t kept;
  PD_CUDA_ENTER(context, build->device);
  PD_TRY(PD_CUDA(context, state, pd_gpu_arrays_merge(of, there, stream)));
  PD_TRY(pd_cuda_copy_out(context, build->device, &found, there, sizeof found));
  if (found.bad_run != UINT64_MAX) return fail_run(context, build, of, found.bad_run);
  PD_TRY(PD_CUDA(context, state, pd_gpu_arrays_number(of, NULL, &bytes, stream)));
  PD_TRY(pd_cuda_build_temporary(context, build, bytes));
  PD_TRY(PD_CUDA(context, state, pd_gpu_arrays_number(of, build->temporary, &bytes, stream)));
  PD_TRY(pd_cuda_copy_out(context, build->device, &kept, of->number + of->runs - 1, sizeof kept));
  for (int n = -1; n < build->order; ++n)
    PD_TRY(keep_array(context, build, of, n, kept));
  build->merged = build->nnz - of->runs;
  build->zeros = found.zeros;
  build->nnz = kept;
  build->identity = true;
  return POLYAD_OK;
}

static polyad_status sort_and_merge(polyad_context *context, struct pd_build *build,
                                    const polyad_tensor_input *input,
                                    struct pd_gpu_arrays_found *there) {
  int modes[POLYAD_MAX_ORDER];
  uint32_t *start = NULL;
  struct pd_gpu_arrays_runs of = {.type = build->type,
                                  .duplicates = input->duplicates,
                                  .keep_zeros = input->zeros == POLYAD_ZEROS_KEEP};
  for (int n = 0; n < build->order; ++n)
    modes[n] = n;
  const struct pd_build_key key = pd_build_key_of_modes(modes, build->order, build->dims);
  build->least = build->order; /* nothing is sorted yet */
  PD_TRY(pd_cuda_build_sort(context, build, &key));
  build->least = 0;
  polyad_status status = pd_cuda_build_runs(context, build, &key, &start, &of.runs);
  of.start = start;
  of.permutation = pd_cuda_build_order(build);
  of.values = build->values;
  of.keep = build->keys[0]; /* the keys are free after a sort */
  of.number = build->keys[1];
  if (status == POLYAD_OK)
    status =
        pd_cuda_allocate(context, build->device, of.runs, pd_type_bytes(build->type), &of.merged);
  if (status == POLYAD_OK) status = merge_runs(context, build, &of, there);
  pd_cuda_release(context, build->device, of.merged);
  pd_cuda_release(context, build->device, start);
  return status;
}

/* ---- the steps --------------------------------------------------------------------------------
 */

static polyad_status arrays_make(polyad_context *context, const polyad_tensor_input *input,
                                 struct pd_build *build, struct pd_gpu_arrays_found *there) {
  struct pd_gpu_arrays_found none = {.zeros = 0};
  memset(none.bad_index, 0xff, sizeof none.bad_index);
  none.bad_value = none.bad_run = none.negative = UINT64_MAX;
  PD_TRY(pd_cuda_copy_in(context, build->device, there, &none, sizeof none));
  PD_TRY(cuda_arrays_copy(context, input, build, there));
  if (!pd_cuda_build.takes(build->nnz, build->order, build->dims))
    return pd_cuda_services->fail(context, POLYAD_UNSUPPORTED,
                                  "a mode is longer than %d; expected shorter modes for arrays on "
                                  "a device",
                                  INT32_MAX);
  PD_TRY(pd_cuda_build_allocate(context, build, false));
  return sort_and_merge(context, build, input, there);
}

polyad_status pd_cuda_arrays_open(polyad_context *context, const struct pd_device *device,
                                  const polyad_tensor_input *input, struct pd_build **out) {
  struct pd_build *build;
  struct pd_gpu_arrays_found *there = NULL;
  *out = NULL;
  if (input->nnz == 0 || input->nnz > INT32_MAX)
    return pd_cuda_services->fail(context, POLYAD_UNSUPPORTED,
                                  "%" PRIu64 " nonzeros are given; expected 1 to %d in arrays on a "
                                  "device",
                                  input->nnz, INT32_MAX);
  PD_TRY(cuda_arrays_check(context, device, input));
  PD_CUDA_ENTER(context, device);
  PD_TRY(PD_CUDA(context, state, cudaDeviceSynchronize())); /* whoever writes them has ended */
  PD_TRY(pd_cuda_services->alloc(context, 1, sizeof *build, (void **)&build));
  *build = (struct pd_build){.device = device,
                             .order = input->order,
                             .nnz = input->nnz,
                             .type = input->type,
                             .identity = true};
  polyad_status status = pd_cuda_allocate(context, device, 1, sizeof *there, (void **)&there);
  if (status == POLYAD_OK) status = arrays_make(context, input, build, there);
  if (status == POLYAD_OK) status = PD_CUDA(context, state, cudaStreamSynchronize(stream));
  pd_cuda_release(context, device, there);
  if (status == POLYAD_OK)
    *out = build;
  else
    pd_cuda_build_close(context, build);
  return status;
}

/* The exponent that squares are scaled by. */
static polyad_status exponent_of(polyad_context *context, struct pd_build *build, int *exponent) {
  double largest;
  *exponent = 0;
  if (build->type == POLYAD_F32) return POLYAD_OK;
  PD_TRY(pd_cuda_build_largest(context, build, &largest));
  if (largest > 0 && (largest < SAFE_MIN || largest > SAFE_MAX)) (void)frexp(largest, exponent);
  return POLYAD_OK;
}

static polyad_status find_negative(polyad_context *context, struct pd_build *build, uint64_t place,
                                   struct pd_build_facts *facts) {
  const struct pd_device *device = build->device;
  uint32_t index;
  float narrow;
  facts->has_negative = place != UINT64_MAX;
  if (!facts->has_negative) return POLYAD_OK;
  for (int n = 0; n < build->order; ++n) {
    PD_TRY(pd_cuda_copy_out(context, device, &index, build->index[n] + place, sizeof index));
    facts->negative_index[n] = index;
  }
  if (build->type == POLYAD_F64)
    return pd_cuda_copy_out(context, device, &facts->negative, (double *)build->values + place,
                            sizeof facts->negative);
  PD_TRY(pd_cuda_copy_out(context, device, &narrow, (float *)build->values + place, sizeof narrow));
  facts->negative = (double)narrow;
  return POLYAD_OK;
}

polyad_status pd_cuda_arrays_facts(polyad_context *context, struct pd_build *build,
                                   struct pd_build_facts *facts) {
  double parts[2 * PD_GPU_ARRAYS_PARTS];
  uint64_t place = UINT64_MAX;
  *facts = (struct pd_build_facts){
      .nnz = build->nnz, .repeats_merged = build->merged, .zeros = build->zeros};
  memcpy(facts->dims, build->dims, sizeof facts->dims);
  if (build->nnz == 0) return POLYAD_OK;
  PD_TRY(exponent_of(context, build, &facts->norm_exponent));
  PD_CUDA_ENTER(context, build->device);
  PD_TRY(pd_cuda_build_temporary(context, build, sizeof parts + sizeof place));
  double *sums = build->temporary;
  uint64_t *negative = (uint64_t *)(sums + 2 * PD_GPU_ARRAYS_PARTS);
  PD_TRY(pd_cuda_copy_in(context, build->device, negative, &place, sizeof place));
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_arrays_sums(build->values, build->type, build->nnz, facts->norm_exponent,
                                    sums, sums + PD_GPU_ARRAYS_PARTS, negative, stream)));
  PD_TRY(pd_cuda_copy_out(context, build->device, parts, sums, sizeof parts));
  PD_TRY(pd_cuda_copy_out(context, build->device, &place, negative, sizeof place));
  for (int k = 0; k < PD_GPU_ARRAYS_PARTS; ++k) {
    facts->norm_square_scaled += parts[k];
    facts->sum += parts[PD_GPU_ARRAYS_PARTS + k];
  }
  return find_negative(context, build, place, facts);
}

polyad_status pd_cuda_arrays_scale(polyad_context *context, struct pd_build *build, int exponent) {
  PD_CUDA_ENTER(context, build->device);
  return PD_CUDA(context, state,
                 pd_gpu_arrays_scale(build->values, build->type, build->nnz, exponent, stream));
}
