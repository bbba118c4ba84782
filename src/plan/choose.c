#include "plan/choose.h"
#include "formats/sent.h"
#include "plan/tune_recall.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool has_variant(const struct polyad_format *format, const char *variant) {
  const char *at = format->variants;
  size_t length = strlen(variant);
  while (length > 0 && (at = strstr(at, variant)) != NULL) {
    bool starts = at == format->variants || at[-1] == ' ';
    if (starts && (at[length] == '\0' || at[length] == ' ')) return true;
    at += length;
  }
  return false;
}

static bool within_limit(polyad_context *context, uint64_t bytes) {
  return pd_add_saturated(polyad_memory_in_use(context), bytes) <= polyad_memory_limit(context);
}

/* Leaves out what is taken only where it is named: formats that serve comparisons, and kernels that
 * give other bits in every run. */
static void leave_to_name(const struct pd_request *request, struct pd_candidate *candidate) {
  if (!candidate->supported) return;
  const struct pd_op op = pd_op_of_kernel(request->kernel, 0);
  const bool any_order = pd_walk_of(candidate->kernels, pd_op_bit(&op))->any_order;
  const bool by_name = candidate->format->by_name;
  if (!by_name && !any_order) return;
  candidate->supported = false;
  snprintf(candidate->reason, PD_REASON_BYTES, "%s%s%s",
           by_name ? "it is built in for comparison" : "", by_name && any_order ? ", and " : "",
           any_order ? "its sums are in no fixed order" : "");
}

/* What storage, one workspace and factors take on a device with memory of its own. */
static void assess_device(polyad_context *context, const struct pd_traits *traits,
                          const struct pd_request *request, struct pd_candidate *candidate) {
  const struct pd_device *device = request->device;
  const struct polyad_kernels *kernels = candidate->kernels;
  uint64_t bytes = candidate->storage_bytes, rows = 0;
  if (device->functions->host_memory) return;
  if (kernels->device_bytes != NULL) bytes = kernels->device_bytes(traits, request, bytes);
  for (int n = 0; n < traits->order; ++n)
    rows = pd_add_saturated(rows, traits->dims[n]);
  uint64_t stride = pd_factor_stride(device, request->precision, request->rank);
  uint64_t row = pd_mul_saturated(stride, pd_type_bytes(request->precision));
  candidate->device_bytes = pd_add_saturated(bytes, pd_mul_saturated(rows, row));
  /* What the tensor takes there is free again afterwards. */
  candidate->device_free =
      pd_add_saturated(device->functions->memory_available(context, device),
                       pd_sent_bytes(request, traits->nnz, traits->order, traits->dims));
  /* What is built on the device takes no memory of the host. */
  uint64_t building =
      pd_storage_device_bytes(candidate->format, traits, request, candidate->storage_bytes);
  if (building > 0 && building <= candidate->device_free) {
    candidate->building_bytes = 0;
    candidate->fits_host = true;
  }
  candidate->fits = candidate->fits_host && candidate->device_bytes <= candidate->device_free;
}

/* Estimated seconds of building: fitted on an AMD EPYC (Zen 4, AVX-512), as the estimates of
 * kernels, and on an H200. What several threads build has parts that one does. */
static double building_seconds(const struct pd_traits *traits, const struct pd_request *request,
                               const struct pd_candidate *candidate) {
  const double LIST = 16, ALONE = 0.05, TRANSFER = 2e10;
  const double DEVICE_START = 5e-3, DEVICE_LIST = 1.7e-9;
  const struct polyad_format *format = candidate->format;
  double lists = (double)traits->nnz * traits->order;
  if (pd_storage_device_bytes(candidate->format, traits, request, candidate->storage_bytes) > 0)
    return DEVICE_START + lists * DEVICE_LIST;
  double nanoseconds =
      format->estimate_building != NULL ? format->estimate_building(traits, request) : lists * LIST;
  double seconds = 1e-9 * nanoseconds * (ALONE + (1 - ALONE) / request->threads);
  if (!request->device->functions->host_memory)
    seconds += (double)candidate->storage_bytes / TRANSFER;
  return seconds;
}

static void assess(polyad_context *context, const struct polyad_format *format,
                   const struct pd_traits *traits, const struct pd_request *asked,
                   struct pd_candidate *candidate) {
  struct pd_request completed = *asked;
  const struct pd_request *request = &completed;
  pd_parameters_recall(context, format, asked, completed.parameter);
  *candidate = (struct pd_candidate){.format = format};
  memcpy(candidate->parameter, request->parameter, sizeof candidate->parameter);
  candidate->kernels = pd_kernels_find(format->name, request->device->kind);
  const struct pd_op op = pd_op_of_kernel(request->kernel, 0);
  char *reason = candidate->reason;
  if (candidate->kernels == NULL)
    snprintf(reason, PD_REASON_BYTES, "it has no kernels for device %s", request->device->kind);
  else if (pd_walk_of(candidate->kernels, pd_op_bit(&op)) == NULL)
    snprintf(reason, PD_REASON_BYTES, "it has no %s on device %s", pd_op_name(&op),
             request->device->kind);
  else if (!has_variant(format, request->variant))
    snprintf(reason, PD_REASON_BYTES, "it has no variant '%s'; expected one of: %s",
             request->variant, format->variants);
  else if (traits->order < format->min_order || traits->order > format->max_order)
    snprintf(reason, PD_REASON_BYTES, "the tensor has %d mode%s; expected %d to %d", traits->order,
             traits->order == 1 ? "" : "s", format->min_order, format->max_order);
  else if (request->compute != POLYAD_COMPUTE_NATIVE && !format->reduced)
    snprintf(reason, PD_REASON_BYTES,
             "it computes in the plan's precision only; formats for tensor cores do others");
  else
    candidate->supported = format->supports(traits, request, reason);
  if (!candidate->supported) return;
  snprintf(candidate->variant, PD_REASON_BYTES, "%s", request->variant);
  format->estimate_bytes(traits, request, &candidate->storage_bytes, &candidate->building_bytes);
  candidate->seconds = format->estimate_seconds(traits, request);
  if (request->kernel == POLYAD_KERNEL_PHI && candidate->kernels->phi_over_mttkrp > 0)
    candidate->seconds *= candidate->kernels->phi_over_mttkrp;
  candidate->building = building_seconds(traits, request, candidate);
  candidate->fits = candidate->fits_host = within_limit(context, candidate->building_bytes);
  assess_device(context, traits, request, candidate);
}

/* Tuples are counted where a format that rests on them may be chosen. */
polyad_status pd_candidates_traits(polyad_context *context, const polyad_tensor *tensor,
                                   const struct pd_request *request, struct pd_traits *traits) {
  if (pd_sent(request) != NULL)
    PD_TRY(pd_traits_compute_sent(context, tensor, request, traits));
  else
    PD_TRY(pd_traits_compute_for(context, tensor, request->format, traits));
  for (int f = 0; f < pd_format_count(); ++f) {
    const struct polyad_format *format = pd_format_at(f);
    const struct polyad_kernels *kernels = pd_kernels_find(format->name, request->device->kind);
    bool asked = request->format == NULL || request->format == format;
    const struct pd_op op = pd_op_of_kernel(request->kernel, 0);
    if (format->counts_tuples && asked && kernels != NULL &&
        pd_walk_of(kernels, pd_op_bit(&op)) != NULL && tensor->order <= format->max_order)
      return pd_traits_count_tuples(context, tensor, request, traits);
  }
  return POLYAD_OK;
}

void pd_candidates_list(polyad_context *context, const struct pd_traits *traits,
                        const struct pd_request *request,
                        struct pd_candidate candidates[PD_CANDIDATES_MAX], int *count) {
  *count = 0;
  for (int f = 0; f < pd_format_count() && *count < PD_CANDIDATES_MAX; ++f) {
    const struct polyad_format *format = pd_format_at(f);
    if (request->format != NULL && request->format != format) continue;
    assess(context, format, traits, request, &candidates[*count]);
    if (request->format == NULL) leave_to_name(request, &candidates[*count]);
    ++*count;
  }
}

void pd_candidates_built_there(const struct pd_traits *traits, const struct pd_request *request,
                               struct pd_candidate *candidates, int count) {
  for (int c = 0; c < count; ++c) {
    struct pd_candidate *candidate = &candidates[c];
    if (!candidate->supported ||
        pd_storage_device_bytes(candidate->format, traits, request, candidate->storage_bytes) > 0)
      continue;
    candidate->supported = false;
    snprintf(candidate->reason, PD_REASON_BYTES,
             "it is built on the host, and the tensor's arrays lie on the device");
  }
}

/* Names what each format would take. */
static polyad_status fail_on_device(polyad_context *context, const struct pd_candidate *candidates,
                                    int count) {
  char list[512] = "", need[32], left[32];
  uint64_t available = 0;
  for (int c = 0; c < count; ++c) {
    if (!candidates[c].supported) continue;
    size_t length = strlen(list);
    available = candidates[c].device_free;
    snprintf(list + length, sizeof list - length, "%s%s needs %s (%llu bytes)",
             length > 0 ? ", " : "", candidates[c].format->name,
             pd_bytes_text(need, candidates[c].device_bytes),
             (unsigned long long)candidates[c].device_bytes);
  }
  return pd_fail(context, POLYAD_MEMORY_LIMIT,
                 "no format fits into the device's memory, factors included: %s; %s are free", list,
                 pd_bytes_text(left, available));
}

/* Of a sweep, building spread over all of them: ordered as the seconds of whole runs. */
static double seconds_of_sweep(const struct pd_candidate *candidate, double sweeps) {
  return candidate->seconds + (sweeps > 0 ? candidate->building / sweeps : 0);
}

polyad_status pd_candidates_choose(polyad_context *context, const struct pd_candidate *candidates,
                                   int count, double sweeps, int *choice) {
  int best = -1, smallest = -1;
  double least = INFINITY;
  for (int c = 0; c < count; ++c) {
    if (!candidates[c].supported) continue;
    if (smallest < 0 || candidates[c].building_bytes < candidates[smallest].building_bytes)
      smallest = c;
    double seconds = seconds_of_sweep(&candidates[c], sweeps);
    if (!candidates[c].fits || (best >= 0 && seconds >= least)) continue;
    best = c;
    least = seconds;
  }
  *choice = best;
  if (best >= 0) return POLYAD_OK;
  if (smallest < 0)
    return pd_fail(context, POLYAD_UNSUPPORTED, "format %s cannot hold this tensor: %s",
                   candidates[0].format->name, candidates[0].reason);
  if (candidates[smallest].fits_host) return fail_on_device(context, candidates, count);
  char what[96];
  snprintf(what, sizeof what, "building format %s", candidates[smallest].format->name);
  return pd_memory_check(context, candidates[smallest].building_bytes, what);
}

static void choose_append(char text[PD_EXPLANATION_BYTES], const char *line) {
  size_t length = strlen(text);
  snprintf(text + length, PD_EXPLANATION_BYTES - length, "%s", line);
}

/* "0.3 s", or where building counts "0.3 s to build and 15 x 0.02 s: 0.6 s". */
static const char *seconds_text(const struct pd_candidate *candidate, double sweeps,
                                const char *measured, char text[PD_REASON_BYTES]) {
  double all = seconds_of_sweep(candidate, sweeps) * sweeps;
  if (sweeps > 0 && isfinite(all))
    snprintf(text, PD_REASON_BYTES, "%s %.2g s to build and %.3g sweeps of %.2g s: %.2g s",
             measured, candidate->building, sweeps, candidate->seconds, all);
  else
    snprintf(text, PD_REASON_BYTES, "%s %.2g s for a sweep", measured, candidate->seconds);
  return text;
}

/* " (1.5 times as long)"; nothing beside a plan of nothing, which takes no time. */
static const char *times_text(double seconds, double best, char text[32]) {
  text[0] = '\0';
  if (best > 0 && isfinite(best)) snprintf(text, 32, " (%.1f times as long)", seconds / best);
  return text;
}

static void append_candidate(const struct pd_candidate *candidate, double best, double sweeps,
                             bool measured, char text[PD_EXPLANATION_BYTES]) {
  char line[2 * PD_REASON_BYTES], seconds[PD_REASON_BYTES], bytes[32], left[32];
  char times[32];
  const char *name = candidate->format->name;
  if (!candidate->supported)
    snprintf(line, sizeof line, "\nnot %s: %s", name, candidate->reason);
  else if (!candidate->fits && candidate->fits_host)
    snprintf(line, sizeof line,
             "\nnot %s: with factors it needs %s of the device's memory, %s are free", name,
             pd_bytes_text(bytes, candidate->device_bytes),
             pd_bytes_text(left, candidate->device_free));
  else if (!candidate->fits)
    snprintf(line, sizeof line, "\nnot %s: building it needs %s, more than the memory limit leaves",
             name, pd_bytes_text(bytes, candidate->building_bytes));
  else
    snprintf(line, sizeof line, "\nnot %s: %s%s, %s", name,
             seconds_text(candidate, sweeps, measured ? "measured" : "estimated", seconds),
             times_text(seconds_of_sweep(candidate, sweeps), best, times),
             pd_bytes_text(bytes, candidate->storage_bytes));
  choose_append(text, line);
}

void pd_candidates_explain(const struct pd_candidate *candidates, int count, int choice,
                           const char *variant, const struct pd_request *request, bool measured,
                           char text[PD_EXPLANATION_BYTES]) {
  char line[4 * PD_REASON_BYTES], seconds[PD_REASON_BYTES], bytes[32];
  const struct pd_candidate *chosen = &candidates[choice];
  double sweeps = request->sweeps, best = seconds_of_sweep(chosen, sweeps);
  snprintf(line, sizeof line, "%s (%s): %s, %s; a sweep is %s in all modes", chosen->format->name,
           variant, seconds_text(chosen, sweeps, measured ? "measured" : "estimated", seconds),
           pd_bytes_text(bytes, chosen->storage_bytes),
           request->kernel == POLYAD_KERNEL_PHI ? "Phi" : "an MTTKRP");
  text[0] = '\0';
  choose_append(text, line);
  for (int c = 0; c < count; ++c)
    if (c != choice) append_candidate(&candidates[c], best, sweeps, measured, text);
}
