#include "components.h"
#include "session.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TOP_MOST = 100, NAME_WIDTH = 14 };

static double number(const polyad_ktensor *model, const void *array, uint64_t k) {
  return polyad_ktensor_type(model) == POLYAD_F64 ? ((const double *)array)[k]
                                                  : ((const float *)array)[k];
}

/* The rows of a column with the largest magnitudes, first come first in ties. */
static int strongest(const polyad_ktensor *model, int mode, uint64_t component, int top,
                     uint64_t *rows) {
  const void *factor = polyad_ktensor_factor((polyad_ktensor *)(uintptr_t)model, mode);
  uint64_t rank = polyad_ktensor_rank(model), length = polyad_ktensor_dims(model)[mode];
  double value[TOP_MOST];
  int count = 0;
  for (uint64_t i = 0; i < length; ++i) {
    double magnitude = fabs(number(model, factor, i * rank + component));
    if (magnitude == 0 || (count == top && magnitude <= value[count - 1])) continue;
    int at = count < top ? count++ : count - 1;
    for (; at > 0 && value[at - 1] < magnitude; --at) {
      value[at] = value[at - 1];
      rows[at] = rows[at - 1];
    }
    value[at] = magnitude;
    rows[at] = i;
  }
  return count;
}

/* A label fit for a terminal: what cannot be shown is escaped, the rest as it is. */
static void print_label(const polyad_tensor *outline, int mode, uint64_t row) {
  const char *label = outline == NULL ? NULL : polyad_tensor_label(outline, mode, row, NULL);
  if (label == NULL) {
    printf("%llu", (unsigned long long)row + 1);
    return;
  }
  char quoted[CLI_QUOTE_BYTES];
  cli_quote(quoted, label);
  size_t length = strlen(quoted);
  printf("%.*s", (int)length - 2, quoted + 1); /* without the quotes */
}

static void print_mode(const polyad_ktensor *model, const polyad_tensor *outline, int mode,
                       uint64_t component, int top) {
  uint64_t rows[TOP_MOST], rank = polyad_ktensor_rank(model);
  const void *factor = polyad_ktensor_factor((polyad_ktensor *)(uintptr_t)model, mode);
  const char *name = outline == NULL ? NULL : polyad_tensor_mode_name(outline, mode);
  char title[64];
  if (name != NULL)
    snprintf(title, sizeof title, "%.50s", name);
  else
    snprintf(title, sizeof title, "mode %d", mode + 1);
  printf("  %s%*s", title, NAME_WIDTH - cli_width(title) > 1 ? NAME_WIDTH - cli_width(title) : 1,
         "");
  int count = strongest(model, mode, component, top, rows);
  for (int k = 0; k < count; ++k) {
    if (k > 0) fputs("   ", stdout);
    print_label(outline, mode, rows[k]);
    printf(" %.3g", number(model, factor, rows[k] * rank + component));
  }
  if (count == 0) fputs("-", stdout);
  fputs("\n", stdout);
}

void cli_print_components(const polyad_ktensor *model, const polyad_tensor *outline, int top) {
  if (top > TOP_MOST) top = TOP_MOST;
  const void *weights = polyad_ktensor_weights((polyad_ktensor *)(uintptr_t)model);
  double total = 0;
  uint64_t rank = polyad_ktensor_rank(model);
  for (uint64_t r = 0; r < rank; ++r)
    total += number(model, weights, r);
  for (uint64_t r = 0; r < rank; ++r) {
    double weight = number(model, weights, r);
    printf("\ncomponent %llu   weight %.6g", (unsigned long long)r + 1, weight);
    if (total > 0) printf("   (%.0f%% of all weights)", 100 * weight / total);
    fputs("\n", stdout);
    for (int n = 0; n < polyad_ktensor_order(model); ++n)
      print_mode(model, outline, n, r, top);
  }
}

polyad_status cli_write_ktensor(polyad_context *context, const polyad_ktensor *model,
                                const polyad_tensor *outline, uint64_t top, const char *path) {
  if (path == NULL) return POLYAD_OK;
  if (!cli_is_directory_name(path))
    return polyad_ktensor_write_labelled(context, model, outline, path);
  return polyad_ktensor_write_directory(context, model, outline, top > 0 ? (int)top : 10, path);
}
