#include "plan/tune_recall.h"
#include "device/device_registry.h"
#include "plan/tune_cache.h"
#include <inttypes.h>
#include <math.h>
#include <polyad/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 1024 };

/* What a measured number depends on besides its name: library, device, threads. */
static void machine_of(polyad_context *context, const struct pd_device *device,
                       char text[KEY_BYTES]) {
  polyad_device_description about;
  pd_device_describe(device, &about);
  snprintf(text, KEY_BYTES, "polyad %s, %.63s, %.255s, %.63s, %d threads", polyad_version(),
           device->name, about.description, about.capability, polyad_threads(context));
}

/* The tensor's hash covers lengths, indices, values and their type. */
static void key_of(polyad_context *context, const polyad_tensor *tensor, const char *format,
                   const struct pd_request *request, char key[2 * KEY_BYTES]) {
  char machine[KEY_BYTES];
  machine_of(context, request->device, machine);
  snprintf(
      key, 2 * KEY_BYTES,
      "plan: %s; tensor %016" PRIx64 " with %" PRIu64
      " nonzeros; rank %llu, precision %d, kernel %d, compute %d; format %.63s, variant %.63s, "
      "%d, %d, %d, %d, %d",
      machine, polyad_tensor_hash(tensor), tensor->nnz, (unsigned long long)request->rank,
      (int)request->precision, (int)request->kernel, (int)request->compute, format,
      request->variant, (int)request->force_index64, request->partitions, request->columns,
      request->order_for_mode, request->tile_threshold);
}

/* ---- candidates as text: "NAME VARIANT THRESHOLD SECONDS;" for each ---------------------------
 */

static bool was_measured(const struct pd_candidate *candidate) {
  return candidate->fits && candidate->supported;
}

void pd_candidates_remember(polyad_context *context, const char *path, const polyad_tensor *tensor,
                            const char *format, const struct pd_request *request,
                            const struct pd_candidate *candidates, int count) {
  char key[2 * KEY_BYTES], text[PD_TUNE_TEXT_BYTES] = "";
  size_t used = 0;
  for (int c = 0; c < count; ++c) {
    const struct pd_candidate *at = &candidates[c];
    bool failed = at->kernels != NULL && at->fits && isinf(at->seconds);
    if (!was_measured(at) && !failed) continue;
    int length = snprintf(text + used, sizeof text - used, "%s %s %d %.17g;", at->format->name,
                          at->variant, at->tile_threshold, at->seconds);
    if (length < 0 || used + (size_t)length >= sizeof text) return;
    used += (size_t)length;
  }
  key_of(context, tensor, format, request, key);
  pd_tune_cache_store(context, path, key, text);
}

/* The part of the text that begins with a format's name and a blank; NULL: none. */
static const char *part_of(const char *text, const char *name) {
  size_t length = strlen(name);
  for (const char *part = text; part != NULL && *part != '\0';) {
    if (strncmp(part, name, length) == 0 && part[length] == ' ') return part + length + 1;
    part = strchr(part, ';');
    if (part != NULL) ++part;
  }
  return NULL;
}

static bool take_part(const char *part, struct pd_candidate *candidate) {
  char variant[64];
  int threshold = 0, length = 0;
  if (sscanf(part, "%63s %d %n", variant, &threshold, &length) < 2 || length == 0) return false;
  char *end = NULL;
  double seconds = strtod(part + length, &end);
  if (end == part + length || *end != ';' || !(seconds > 0)) return false;
  candidate->seconds = seconds;
  candidate->tile_threshold = threshold;
  snprintf(candidate->variant, sizeof candidate->variant, "%s", variant);
  if (!isinf(seconds)) return true;
  candidate->supported = false;
  snprintf(candidate->reason, PD_REASON_BYTES, "it failed when it was measured");
  return true;
}

bool pd_candidates_recall(polyad_context *context, const char *path, const polyad_tensor *tensor,
                          const char *format, const struct pd_request *request,
                          struct pd_candidate *candidates, int count) {
  char key[2 * KEY_BYTES], text[PD_TUNE_TEXT_BYTES];
  struct pd_candidate found[PD_CANDIDATES_MAX];
  key_of(context, tensor, format, request, key);
  if (!pd_tune_cache_find(context, path, key, text)) return false;
  for (int c = 0; c < count; ++c) {
    found[c] = candidates[c];
    if (!was_measured(&candidates[c])) continue;
    const char *part = part_of(text, candidates[c].format->name);
    if (part == NULL || !take_part(part, &found[c])) return false;
  }
  memcpy(candidates, found, (size_t)count * sizeof *candidates);
  pd_log(context, POLYAD_LOG_INFO, "what was measured for this tensor before is in %s", path);
  return true;
}

/* ---- single numbers ---------------------------------------------------------------------------
 */

static polyad_status number_key(polyad_context *context, const char *path, const char *name,
                                char key[2 * KEY_BYTES]) {
  const struct pd_device *device;
  char machine[KEY_BYTES];
  if (path == NULL || name == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "path or name is NULL");
  PD_TRY(pd_device_of(context, &device));
  machine_of(context, device, machine);
  snprintf(key, 2 * KEY_BYTES, "number: %s; %.255s", machine, name);
  return POLYAD_OK;
}

polyad_status polyad_tune_cache_keep(polyad_context *context, const char *path, const char *name,
                                     double value) {
  char key[2 * KEY_BYTES], text[40];
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  PD_TRY(number_key(context, path, name, key));
  if (!isfinite(value))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "%g found; expected a finite number", value);
  snprintf(text, sizeof text, "%.17g", value);
  pd_tune_cache_store(context, path, key, text);
  return POLYAD_OK;
}

polyad_status polyad_tune_cache_number(polyad_context *context, const char *path, const char *name,
                                       double *value) {
  char key[2 * KEY_BYTES], text[PD_TUNE_TEXT_BYTES], *end = NULL;
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  if (value == NULL) return pd_fail(context, POLYAD_INVALID_ARGUMENT, "value is NULL");
  *value = NAN;
  PD_TRY(number_key(context, path, name, key));
  if (!pd_tune_cache_find(context, path, key, text)) return POLYAD_OK;
  double number = strtod(text, &end);
  if (end != text && *end == '\0' && isfinite(number)) *value = number;
  return POLYAD_OK;
}
