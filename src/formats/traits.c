/* Slice and fiber counts of a tensor: what the choice of a format rests on, and the limits that
 * many formats share. */
#include "formats/sent.h"
#include "tensor/tensor_fibers.h"
#include "tensor/tensor_slices.h"
#include <stdio.h>
#include <string.h>

static polyad_status weigh_slices(polyad_context *context, const polyad_tensor *tensor, int mode,
                                  struct pd_traits *traits) {
  uint64_t *sizes, count, nonempty = 0, most = 0;
  PD_TRY(pd_tensor_slice_sizes(context, tensor, mode, &sizes, &count));
  int threads = pd_threads_for(context, count, 1 << 16);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : nonempty)             \
    reduction(max : most)
  for (uint64_t i = 0; i < count; ++i) {
    nonempty += sizes[i] > 0;
    most = sizes[i] > most ? sizes[i] : most;
  }
  traits->nonempty[mode] = nonempty;
  traits->slice_max[mode] = most;
  pd_free(context, sizes);
  return POLYAD_OK;
}

static void begin_traits(const polyad_tensor *tensor, struct pd_traits *traits) {
  memset(traits, 0, sizeof *traits);
  traits->order = tensor->order;
  traits->nnz = tensor->nnz;
  memcpy(traits->dims, tensor->dims, sizeof traits->dims);
}

polyad_status pd_traits_compute_for(polyad_context *context, const polyad_tensor *tensor,
                                    const struct polyad_format *format, struct pd_traits *traits) {
  begin_traits(tensor, traits);
  for (int n = 0; n < tensor->order; ++n)
    PD_TRY(weigh_slices(context, tensor, n, traits));
  if (format != NULL && format->fiberless) return POLYAD_OK;
  return pd_tensor_sample_fibers(context, tensor, NULL, traits->fibers);
}

polyad_status pd_traits_compute(polyad_context *context, const polyad_tensor *tensor,
                                struct pd_traits *traits) {
  return pd_traits_compute_for(context, tensor, NULL, traits);
}

/* struct pd_tuple_source of what has been sent: `user` is the request. */
static polyad_status see_sent(polyad_context *context, void *user, int modes, bool sampled,
                              uint8_t *registers) {
  const struct pd_request *request = user;
  return request->device->functions->build->tuples(context, pd_sent(request), modes, sampled,
                                                   registers);
}

static polyad_status mark_sent(polyad_context *context, void *user, int first, int modes,
                               uint64_t words, uint64_t *bits) {
  const struct pd_request *request = user;
  return request->device->functions->build->cells(context, pd_sent(request), first, modes, words,
                                                  bits);
}

polyad_status pd_traits_compute_sent(polyad_context *context, const polyad_tensor *tensor,
                                     const struct pd_request *request, struct pd_traits *traits) {
  struct pd_tuple_source source = {see_sent, mark_sent, (void *)request}; /* only read */
  begin_traits(tensor, traits);
  for (int n = 0; n < tensor->order; ++n) {
    struct pd_build_classes classes;
    PD_TRY(request->device->functions->build->classes(context, pd_sent(request), n, &classes));
    for (int c = 0; c < PD_BUILD_CLASSES; ++c)
      traits->nonempty[n] += classes.rows[c];
    traits->slice_max[n] = classes.most;
  }
  return pd_tensor_sample_fibers(context, tensor, &source, traits->fibers);
}

polyad_status pd_traits_of_request(polyad_context *context, const polyad_tensor *tensor,
                                   const struct pd_request *request, struct pd_traits *traits) {
  if (request->traits == NULL)
    return pd_traits_compute_for(context, tensor, request->format, traits);
  *traits = *request->traits;
  return POLYAD_OK;
}

polyad_status pd_traits_count_tuples(polyad_context *context, const polyad_tensor *tensor,
                                     const struct pd_request *request, struct pd_traits *traits) {
  if (traits->tuples[0][2] > 0) return POLYAD_OK; /* they have been */
  struct pd_tuple_source source = {see_sent, mark_sent, (void *)request};
  return pd_tensor_sample_tuples(context, tensor, pd_sent(request) == NULL ? NULL : &source,
                                 traits->tuples);
}

bool pd_supports_32_bits(const struct pd_traits *traits, const struct pd_request *request,
                         uint64_t most, char reason[PD_REASON_BYTES]) {
  if (traits->nnz > most) {
    snprintf(reason, PD_REASON_BYTES,
             "there are %llu nonzeros; expected at most %llu on one device",
             (unsigned long long)traits->nnz, (unsigned long long)most);
    return false;
  }
  for (int n = 0; n < traits->order; ++n)
    if (traits->dims[n] > UINT64_C(1) << 32) {
      snprintf(reason, PD_REASON_BYTES, "mode %d has length %llu; expected at most 2^32",
               n + request->first_mode, (unsigned long long)traits->dims[n]);
      return false;
    }
  return true;
}
