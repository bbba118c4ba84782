#include "plan/tune_recall.h"
#include "device/device_registry.h"
#include "formats/format_text.h"
#include "plan/tune_cache.h"
#include <inttypes.h>
#include <math.h>
#include <polyad/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 1024, LIST_BYTES = PD_PARAMETERS_MAX * 12 };

/* What a measured number depends on besides its name: library, device, threads. */
static void machine_of(polyad_context *context, const struct pd_device *device,
                       char text[KEY_BYTES]) {
  polyad_device_description about;
  pd_device_describe(device, &about);
  snprintf(text, KEY_BYTES, "polyad %s, %.63s, %.255s, %.63s, %d threads", polyad_version(),
           device->name, about.description, about.capability, polyad_threads(context));
}

/* "82,0,0,0" */
static const char *tune_recall_list_of(const int parameter[PD_PARAMETERS_MAX],
                                       char text[LIST_BYTES]) {
  size_t at = 0;
  for (int k = 0; k < PD_PARAMETERS_MAX; ++k)
    at += (size_t)snprintf(text + at, LIST_BYTES - at, "%s%d", k == 0 ? "" : ",", parameter[k]);
  return text;
}

/* The tensor's hash covers lengths, indices, values and their type. */
static void tune_recall_key_of(polyad_context *context, const polyad_tensor *tensor,
                               const struct pd_request *request, char key[2 * KEY_BYTES]) {
  char machine[KEY_BYTES], list[LIST_BYTES];
  machine_of(context, request->device, machine);
  snprintf(
      key, 2 * KEY_BYTES,
      "plan: %s; tensor %016" PRIx64 " with %" PRIu64
      " nonzeros; rank %llu, precision %d, kernel %d, compute %d; format %.63s, variant %.63s, "
      "parameters %s, %d",
      machine, polyad_tensor_hash(tensor), tensor->nnz, (unsigned long long)request->rank,
      (int)request->precision, (int)request->kernel, (int)request->compute,
      request->format == NULL ? "auto" : request->format->name, request->variant,
      tune_recall_list_of(request->parameter, list), (int)request->force_index64);
}

/* ---- candidates as text: "NAME VARIANT PARAMETERS SECONDS;" for each ---------------------------
 */

static bool was_measured(const struct pd_candidate *candidate) {
  return candidate->fits && candidate->supported;
}

void pd_candidates_remember(polyad_context *context, const char *path, const polyad_tensor *tensor,
                            const struct pd_request *request, const struct pd_candidate *candidates,
                            int count) {
  char key[2 * KEY_BYTES], text[PD_TUNE_TEXT_BYTES] = "", list[LIST_BYTES];
  size_t used = 0;
  for (int c = 0; c < count; ++c) {
    const struct pd_candidate *at = &candidates[c];
    bool failed = at->kernels != NULL && at->fits && isinf(at->seconds);
    if (!was_measured(at) && !failed) continue;
    int length = snprintf(text + used, sizeof text - used, "%s %s %s %.17g;", at->format->name,
                          at->variant, tune_recall_list_of(at->parameter, list), at->seconds);
    if (length < 0 || used + (size_t)length >= sizeof text) return;
    used += (size_t)length;
  }
  tune_recall_key_of(context, tensor, request, key);
  pd_tune_cache_store(context, path, key, text);
}

/* The part of the text that begins with a format's name and a blank; NULL: none. */
static const char *tune_recall_part_of(const char *text, const char *name) {
  size_t length = strlen(name);
  for (const char *part = text; part != NULL && *part != '\0';) {
    if (strncmp(part, name, length) == 0 && part[length] == ' ') return part + length + 1;
    part = strchr(part, ';');
    if (part != NULL) ++part;
  }
  return NULL;
}

/* Reads "82,0,0,0". False where a number is no value of the parameter, or another one than the
 * candidate has already. */
static bool take_list(const char *list, struct pd_candidate *candidate) {
  const struct polyad_format *format = candidate->format;
  for (int k = 0; k < PD_PARAMETERS_MAX; ++k) {
    char *end = NULL;
    long value = strtol(list, &end, 10);
    bool last = k == PD_PARAMETERS_MAX - 1;
    if (end == list || *end != (last ? '\0' : ',')) return false;
    list = end + 1;
    if (candidate->parameter[k] != 0 && value != candidate->parameter[k]) return false;
    if (value == 0) continue;
    if (k >= format->parameter_count || value < format->parameters[k].about.least ||
        value > format->parameters[k].about.most)
      return false;
    candidate->parameter[k] = (int)value;
  }
  return true;
}

static bool take_part(const char *part, struct pd_candidate *candidate) {
  char variant[64], list[64];
  int length = 0;
  if (sscanf(part, "%63s %63s %n", variant, list, &length) < 2 || length == 0) return false;
  char *end = NULL;
  double seconds = strtod(part + length, &end);
  if (end == part + length || *end != ';' || !(seconds > 0)) return false;
  if (!take_list(list, candidate)) return false;
  candidate->seconds = seconds;
  snprintf(candidate->variant, sizeof candidate->variant, "%s", variant);
  if (!isinf(seconds)) return true;
  candidate->supported = false;
  snprintf(candidate->reason, PD_REASON_BYTES, "it failed when it was measured");
  return true;
}

bool pd_candidates_recall(polyad_context *context, const char *path, const polyad_tensor *tensor,
                          const struct pd_request *request, struct pd_candidate *candidates,
                          int count) {
  char key[2 * KEY_BYTES], text[PD_TUNE_TEXT_BYTES];
  struct pd_candidate found[PD_CANDIDATES_MAX];
  tune_recall_key_of(context, tensor, request, key);
  if (!pd_tune_cache_find(context, path, key, text)) return false;
  for (int c = 0; c < count; ++c) {
    found[c] = candidates[c];
    if (!was_measured(&candidates[c])) continue;
    const char *part = tune_recall_part_of(text, candidates[c].format->name);
    if (part == NULL || !take_part(part, &found[c])) return false;
  }
  memcpy(candidates, found, (size_t)count * sizeof *candidates);
  pd_log(context, POLYAD_LOG_INFO, "what was measured for this tensor before is in %s", path);
  return true;
}

/* ---- values of parameters ---------------------------------------------------------------------
 */

/* What a value that was kept belongs to. */
static void value_key(polyad_context *context, const struct pd_parameter *parameter,
                      const struct polyad_format *format, const struct pd_request *request,
                      char key[2 * KEY_BYTES]) {
  char machine[KEY_BYTES];
  machine_of(context, request->device, machine);
  snprintf(key, 2 * KEY_BYTES, "parameter %.63s of %.63s: %s; kernel %d, compute %d, precision %d",
           parameter->about.name, format->name, machine, (int)request->kernel,
           (int)request->compute, (int)request->precision);
}

/* The value of a key; 0 when there is none that the parameter allows. */
static int find_value(polyad_context *context, const char *path, const char *key,
                      const struct pd_parameter *parameter) {
  char text[PD_TUNE_TEXT_BYTES], *end = NULL;
  if (!pd_tune_cache_find(context, path, key, text)) return 0;
  long value = strtol(text, &end, 10);
  bool possible = end != text && *end == '\0' && value >= parameter->about.least &&
                  value <= parameter->about.most;
  return possible ? (int)value : 0;
}

void pd_parameters_recall(polyad_context *context, const struct polyad_format *format,
                          const struct pd_request *request, int parameter[PD_PARAMETERS_MAX]) {
  char key[2 * KEY_BYTES];
  for (int k = 0; request->kept != NULL && k < format->parameter_count; ++k) {
    const struct pd_parameter *about = &format->parameters[k];
    if (about->trials == NULL || parameter[k] != 0) continue;
    value_key(context, about, format, request, key);
    parameter[k] = find_value(context, request->kept, key, about);
    if (parameter[k] != 0)
      pd_log(context, POLYAD_LOG_INFO, "%s: %s=%d, as it was measured on this device before",
             format->name, about->about.name, parameter[k]);
  }
}

/* The parameter that the caller names, and its key. */
static polyad_status find_parameter(polyad_context *context, const polyad_plan_options *options,
                                    const char *name, const struct pd_parameter **parameter,
                                    char key[2 * KEY_BYTES]) {
  struct pd_format_text text;
  char quoted[PD_QUOTE_BYTES];
  PD_EXPECT(context,
            options != NULL && options->format != NULL && options->tune_cache != NULL &&
                name != NULL,
            "options, format, cache or name is NULL");
  PD_TRY(pd_format_text_read(context, options->format, &text));
  int which = text.format == NULL ? -1 : pd_parameter_find(text.format, name, strlen(name));
  PD_EXPECT(context, which >= 0 && text.format->parameters[which].trials != NULL,
            "format %s has no parameter %s that is tuned",
            text.format == NULL ? "auto" : text.format->name, pd_quote(quoted, name, strlen(name)));
  struct pd_request request = {
      .kernel = options->kernel, .compute = options->compute, .precision = options->precision};
  PD_TRY(pd_device_of(context, &request.device));
  *parameter = &text.format->parameters[which];
  value_key(context, *parameter, text.format, &request, key);
  return POLYAD_OK;
}

polyad_status polyad_tune_cache_keep(polyad_context *context, const polyad_plan_options *options,
                                     const char *parameter, int value) {
  char key[2 * KEY_BYTES], text[40];
  const struct pd_parameter *found = NULL;
  PD_ENTER(context);
  PD_TRY(find_parameter(context, options, parameter, &found, key));
  PD_EXPECT(context, pd_parameter_allows(found, value), "%d found; expected %d to %d for %s", value,
            found->about.least, found->about.most, found->about.name);
  snprintf(text, sizeof text, "%d", value);
  pd_tune_cache_store(context, options->tune_cache, key, text);
  return POLYAD_OK;
}

polyad_status polyad_tune_cache_value(polyad_context *context, const polyad_plan_options *options,
                                      const char *parameter, int *value) {
  char key[2 * KEY_BYTES];
  const struct pd_parameter *found = NULL;
  PD_ENTER(context);
  PD_EXPECT(context, value != NULL, "value is NULL");
  *value = 0;
  PD_TRY(find_parameter(context, options, parameter, &found, key));
  *value = find_value(context, options->tune_cache, key, found);
  return POLYAD_OK;
}
