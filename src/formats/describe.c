/* What a user may ask about the formats without a plan. */
#include "formats/format.h"
#include <stdio.h>
#include <string.h>

int polyad_format_count(void) { return pd_format_count(); }

/* What users and messages call the operations, in the order in which users see them. */
static const struct {
  uint64_t bit;
  const char *word; /* NULL: not a kernel of its own to users */
  const char *name;
} operations[] = {
    {PD_OPS_MTTKRP, "mttkrp", "MTTKRP"},      {PD_OPS_TTMC, "ttmc", "tensor-times-matrix chain"},
    {PD_OPS_GRADIENT, "phi", "Phi (CP-APR)"}, {PD_OPS_PI, "pi", "stored Pi"},
    {PD_OPS_GAIN, NULL, "log-likelihood"},
};

const char *pd_op_name(const struct pd_op *op) {
  uint64_t bit = pd_op_bit(op);
  for (size_t k = 0; k < sizeof operations / sizeof *operations; ++k)
    if (operations[k].bit == bit) return operations[k].name;
  return "such operation";
}

struct pd_op pd_op_of_kernel(polyad_kernel kernel, double epsilon) {
  switch (kernel) {
  case POLYAD_KERNEL_TTMC:
    return PD_TTMC;
  case POLYAD_KERNEL_PHI:
    return PD_PHI(epsilon);
  case POLYAD_KERNEL_PI:
    return PD_PI;
  case POLYAD_KERNEL_MTTKRP:
    break;
  }
  return PD_MTTKRP;
}

/* Appends a word to a list of words. */
static void describe_append(char *list, size_t size, const char *word) {
  size_t length = strlen(list);
  snprintf(list + length, size - length, "%s%s", length > 0 ? " " : "", word);
}

/* The kinds of devices that have kernels of the format, those that it is tuned for, those that it
 * sums on in a fixed order, and the kernels that it has on any of them.
 */
static void list_kernels(polyad_format_description *about) {
  static const char *const kinds[] = {"cpu", "cuda", "opencl"};
  uint64_t ops = 0;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
    const struct polyad_kernels *kernels = pd_kernels_find(about->name, kinds[k]);
    if (kernels == NULL) continue;
    describe_append(about->devices, sizeof about->devices, kinds[k]);
    if (!kernels->plain) describe_append(about->tuned, sizeof about->tuned, kinds[k]);
    if (pd_same_bits(kernels))
      describe_append(about->deterministic, sizeof about->deterministic, kinds[k]);
    for (int w = 0; w < PD_WALKS_MAX && kernels->walks[w] != NULL; ++w)
      ops |= kernels->walks[w]->ops;
  }
  for (size_t k = 0; k < sizeof operations / sizeof *operations; ++k)
    if ((ops & operations[k].bit) != 0 && operations[k].word != NULL)
      describe_append(about->kernels, sizeof about->kernels, operations[k].word);
}

void pd_formats_of_halves(const char *device, char list[PD_REASON_BYTES]) {
  list[0] = '\0';
  for (int f = 0; f < pd_format_count(); ++f) {
    const struct polyad_kernels *kernels = pd_kernels_find(pd_format_at(f)->name, device);
    const struct pd_walk *walk = kernels == NULL ? NULL : pd_walk_of(kernels, PD_OPS_MTTKRP);
    if (walk != NULL && walk->reads_halves)
      describe_append(list, PD_REASON_BYTES, pd_format_at(f)->name);
  }
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
  };
  list_kernels(about);
  return POLYAD_OK;
}
