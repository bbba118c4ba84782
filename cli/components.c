#include "components.h"
#include "session.h"
#include "strongest.h"
#include "text.h"
#include <stdio.h>
#include <string.h>

enum { NAME_WIDTH = 14 };

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
  uint64_t rows[CLI_STRONGEST_MOST], rank = polyad_ktensor_rank(model);
  const void *factor = polyad_ktensor_factor((polyad_ktensor *)(uintptr_t)model, mode);
  polyad_type type = polyad_ktensor_type(model);
  const struct cli_numbers column = {
      (const char *)factor + component * (type == POLYAD_F64 ? sizeof(double) : sizeof(float)),
      type, polyad_ktensor_dims(model)[mode], rank};
  const char *name = outline == NULL ? NULL : polyad_tensor_mode_name(outline, mode);
  char title[64];
  if (name != NULL)
    snprintf(title, sizeof title, "%.50s", name);
  else
    snprintf(title, sizeof title, "mode %d", mode + 1);
  printf("  %s%*s", title, NAME_WIDTH - cli_width(title) > 1 ? NAME_WIDTH - cli_width(title) : 1,
         "");
  int count = cli_strongest(&column, top, rows);
  for (int k = 0; k < count; ++k) {
    if (k > 0) fputs("   ", stdout);
    print_label(outline, mode, rows[k]);
    printf(" %.3g", cli_number(&column, rows[k]));
  }
  if (count == 0) fputs("-", stdout);
  fputs("\n", stdout);
}

void cli_print_components(const polyad_ktensor *model, const polyad_tensor *outline, int top) {
  uint64_t rank = polyad_ktensor_rank(model);
  const struct cli_numbers weights = {polyad_ktensor_weights((polyad_ktensor *)(uintptr_t)model),
                                      polyad_ktensor_type(model), rank, 1};
  double mean = 0; /* the sum of weights may be more than a double holds */
  for (uint64_t r = 0; r < rank; ++r)
    mean += cli_number(&weights, r) / (double)rank;
  for (uint64_t r = 0; r < rank; ++r) {
    double weight = cli_number(&weights, r);
    printf("\ncomponent %llu   weight %.6g", (unsigned long long)r + 1, weight);
    if (mean > 0) printf("   (%.0f%% of all weights)", 100 * (weight / mean) / (double)rank);
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
