/* Building, checking and describing "portable": all of it is modecopy's. */
#include "formats/portable/portable_format.h"
#include "formats/modecopy/modecopy_build.h"
#include "formats/tables.h"
#include <stdio.h>
#include <string.h>

static struct pd_request as_modecopy(const struct pd_request *request) {
  struct pd_request changed = *request;
  changed.variant = "auto";
  return changed;
}

static bool portable_format_supports(const struct pd_traits *traits,
                                     const struct pd_request *request,
                                     char reason[PD_REASON_BYTES]) {
  struct pd_request changed = as_modecopy(request);
  return pd_modecopy_format.supports(traits, &changed, reason);
}

static void portable_format_estimate_bytes(const struct pd_traits *traits,
                                           const struct pd_request *request, uint64_t *storage,
                                           uint64_t *building) {
  struct pd_request changed = as_modecopy(request);
  pd_modecopy_format.estimate_bytes(traits, &changed, storage, building);
}

/* On a GPU its MTTKRP starts sooner than the tuned one and runs slower, fitted on an H200. Else it
 * is never chosen where a kernel tuned by hand is to be had. */
static double portable_format_estimate_seconds(const struct pd_traits *traits,
                                               const struct pd_request *request) {
  struct pd_request changed = as_modecopy(request);
  double tuned = pd_modecopy_format.estimate_seconds(traits, &changed);
  bool gpu = strcmp(request->device->kind, "cuda") == 0;
  if (gpu && request->kernel == POLYAD_KERNEL_MTTKRP) return 1.25 * tuned - 2e-5 * traits->order;
  return 4 * tuned;
}

static void portable_format_arrays(void *storage, struct pd_arrays *arrays) {
  pd_modecopy_arrays(&((struct pd_portable *)storage)->lists, true, arrays);
}

static polyad_status portable_format_begin(polyad_context *context, const polyad_tensor *tensor,
                                           const struct pd_request *request, void *pointer) {
  struct pd_request changed = as_modecopy(request);
  struct pd_portable *storage = pointer;
  PD_TRY(pd_portable_check_device(context, request->device)); /* before anything is sorted */
  storage->atomic = strcmp(request->variant, "atomic") == 0;
  storage->stores_pi = strcmp(request->variant, "stored") == 0;
  pd_modecopy_init(tensor, &changed, pd_modecopy_all(tensor->order), &storage->lists);
  storage->lists.ends = true;
  return POLYAD_OK;
}

static polyad_status portable_format_build(polyad_context *context, polyad_tensor *tensor,
                                           bool take, const struct pd_request *request,
                                           void *storage) {
  (void)take; /* every list is made from all of the tensor's arrays */
  struct pd_request changed = as_modecopy(request);
  return pd_modecopy_fill(context, tensor, &changed, &((struct pd_portable *)storage)->lists);
}

static polyad_status portable_format_build_there(polyad_context *context, struct pd_build *build,
                                                 const polyad_tensor *tensor,
                                                 const struct pd_request *request, void *storage) {
  (void)tensor;
  struct pd_request changed = as_modecopy(request);
  return pd_modecopy_fill_opened(context, build, &changed, &((struct pd_portable *)storage)->lists);
}

static polyad_status portable_format_check(polyad_context *context, const void *storage) {
  return pd_modecopy_format.check(context, &((const struct pd_portable *)storage)->lists);
}

static void portable_format_describe(const void *storage, int first_mode,
                                     char text[PD_REASON_BYTES]) {
  const struct pd_portable *portable = storage;
  char lists[PD_REASON_BYTES];
  pd_modecopy_format.describe(&portable->lists, first_mode, lists);
  snprintf(text, PD_REASON_BYTES, "%s%s, %.200s", portable->atomic ? "atomic" : "pull-based",
           portable->stores_pi ? ", stores Pi" : "", lists);
}

static void portable_format_decode(const void *storage, uint64_t first, int count,
                                   struct pd_chunk *chunk) {
  pd_modecopy_format.decode(&((const struct pd_portable *)storage)->lists, first, count, chunk);
}

const struct polyad_format pd_portable_format = {
    .name = "portable",
    .summary = "Coordinates sorted once per mode; kernels written once for CPU, CUDA, HIP, OpenCL",
    .paper = "S. I. Geronimo Anderson and J. Choi, Performance Portability of Sparse Tensor "
             "Decomposition Operations",
    .variants = "auto atomic stored",
    .min_order = 1,
    .max_order = POLYAD_MAX_ORDER,
    .supports = portable_format_supports,
    .estimate_bytes = portable_format_estimate_bytes,
    .estimate_seconds = portable_format_estimate_seconds,
    .header_bytes = sizeof(struct pd_portable),
    .arrays = portable_format_arrays,
    .begin = portable_format_begin,
    .build_there = portable_format_build_there,
    .bytes_there = pd_modecopy_bytes_there,
    .build = portable_format_build,
    .check = portable_format_check,
    .describe = portable_format_describe,
    .decode = portable_format_decode,
};
