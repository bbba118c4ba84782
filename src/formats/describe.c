/* What a user may ask about the formats without a plan. */
#include "formats/format.h"
#include <stdio.h>
#include <string.h>

int polyad_format_count(void) { return pd_format_count(); }

/* Appends a word to a list of words. */
static void describe_append(char *list, size_t size, const char *word) {
  size_t length = strlen(list);
  snprintf(list + length, size - length, "%s%s", length > 0 ? " " : "", word);
}

/* The kinds of devices that have kernels of the format, and the kernels that it has on any of them.
 */
static void list_kernels(polyad_format_description *about) {
  static const char *const kinds[] = {"cpu", "cuda", "opencl"};
  bool ttmc = false, phi = false, pi = false;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
    const struct polyad_kernels *kernels = pd_kernels_find(about->name, kinds[k]);
    if (kernels == NULL) continue;
    describe_append(about->devices, sizeof about->devices, kinds[k]);
    ttmc = ttmc || kernels->ttmc != NULL;
    phi = phi || kernels->phi != NULL;
    pi = pi || kernels->pi != NULL;
  }
  describe_append(about->kernels, sizeof about->kernels, "mttkrp"); /* all formats have it */
  if (ttmc) describe_append(about->kernels, sizeof about->kernels, "ttmc");
  if (phi) describe_append(about->kernels, sizeof about->kernels, "phi");
  if (pi) describe_append(about->kernels, sizeof about->kernels, "pi");
}

polyad_status polyad_format_describe(int which, polyad_format_description *about) {
  const struct polyad_format *format = pd_format_at(which);
  if (about == NULL || format == NULL) return POLYAD_INVALID_ARGUMENT;
  *about = (polyad_format_description){
      .name = format->name,
      .summary = format->summary,
      .paper = format->paper,
      .variants = format->variants,
      .compute = format->reduced ? "native f16 bf16 tf32" : "native",
      .parameters = format->parameter_count,
      .min_order = format->min_order,
      .max_order = format->max_order,
      .deterministic = format->deterministic,
  };
  list_kernels(about);
  return POLYAD_OK;
}
