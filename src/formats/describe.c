/* What a user may ask about the formats without a plan. */
#include "formats/format.h"
#include <string.h>

int polyad_format_count(void) { return pd_format_count(); }

/* Kinds of devices, in the order in which they are listed; every subset has its string. */
static const char *devices_of(const char *format) {
  static const char *const kinds[] = {"cpu", "cuda", "opencl"};
  static const char *const subsets[] = {"",       "cpu",        "cuda",        "cpu cuda",
                                        "opencl", "cpu opencl", "cuda opencl", "cpu cuda opencl"};
  int subset = 0;
  for (int k = 0; k < 3; ++k)
    if (pd_kernels_find(format, kinds[k]) != NULL) subset |= 1 << k;
  return subsets[subset];
}

/* Kernels on any kind of device; all have MTTKRP and the inner product. */
static const char *kernels_of(const char *format) {
  static const char *const kinds[] = {"cpu", "cuda", "opencl"};
  static const char *const subsets[] = {"mttkrp innerprod",         "mttkrp phi innerprod",
                                        "mttkrp pi innerprod",      "mttkrp phi pi innerprod",
                                        "mttkrp ttmc innerprod",    "mttkrp ttmc phi innerprod",
                                        "mttkrp ttmc pi innerprod", "mttkrp ttmc phi pi innerprod"};
  int subset = 0;
  for (int k = 0; k < 3; ++k) {
    const struct polyad_kernels *kernels = pd_kernels_find(format, kinds[k]);
    if (kernels == NULL) continue;
    subset |= (kernels->phi != NULL) | (kernels->pi != NULL) << 1 | (kernels->ttmc != NULL) << 2;
  }
  return subsets[subset];
}

polyad_status polyad_format_describe(int which, polyad_format_description *about) {
  const struct polyad_format *format = pd_format_at(which);
  if (about == NULL || format == NULL) return POLYAD_INVALID_ARGUMENT;
  *about = (polyad_format_description){
      .name = format->name,
      .summary = format->summary,
      .paper = format->paper,
      .devices = devices_of(format->name),
      .kernels = kernels_of(format->name),
      .variants = format->variants,
      .compute = format->reduced ? "native f16 bf16 tf32" : "native",
      .parameters = format->parameter_count,
      .min_order = format->min_order,
      .max_order = format->max_order,
      .deterministic = format->deterministic,
      .built = 1,
  };
  return POLYAD_OK;
}
