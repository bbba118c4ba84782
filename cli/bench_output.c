/* Rows of results: as JSON, as lines of a table, and the table of formats and modes at the end. */
#include "bench.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void bench_summarise(double *seconds, int count, struct bench_row *row) {
  qsort(seconds, (size_t)count, sizeof *seconds, compare);
  row->runs = count;
  row->least = seconds[0];
  row->most = seconds[count - 1];
  row->median =
      count % 2 == 1 ? seconds[count / 2] : 0.5 * (seconds[count / 2 - 1] + seconds[count / 2]);
}

static double ratio(double a, double b) { return b > 0 ? a / b : NAN; }

static double known(double value) { return value > 0 ? value : NAN; }

static cJSON *row_object(const struct bench_row *row) {
  cJSON *o = cJSON_CreateObject();
  cli_json_text(o, "format", row->format);
  cli_json_text(o, "variant", row->variant[0] != '\0' ? row->variant : NULL);
  cli_json_count_above_0(o, "mode", (uint64_t)row->mode);
  if (row->mode > 0) cli_json_bool(o, "tuned", row->tuned);
  cli_json_real(o, "median_seconds", row->median);
  cli_json_real(o, "min_seconds", row->least);
  cli_json_real(o, "max_seconds", row->most);
  cli_json_count(o, "runs", (uint64_t)row->runs);
  cli_json_real(o, "flops", known(row->flops));
  cli_json_real(o, "bytes_moved", known(row->bytes_moved));
  cli_json_real(o, "gflops", 1e-9 * ratio(known(row->flops), row->median));
  cli_json_real(o, "gbytes_per_second", 1e-9 * ratio(known(row->bytes_moved), row->median));
  cli_json_real(o, "bound_seconds", known(row->bound_seconds));
  cli_json_real(o, "bound_share", bench_share(row->bound_seconds, row->median));
  cli_json_real(o, "build_seconds", known(row->build_seconds));
  cli_json_count_above_0(o, "bytes_format", row->bytes_format);
  cli_json_real(o, "max_relative_error", row->max_relative_error);
  cli_json_text(o, "cache", row->mode > 0 ? (row->cold ? "cold" : "warm") : NULL);
  if (row->iterations > 0) {
    cli_json_count(o, "iterations", (uint64_t)row->iterations);
    cli_json_real(o, "fit", row->fit);
    cli_json_real(o, "log_likelihood", row->log_likelihood);
  }
  if (row->precision == NULL) return o;
  cli_json_text(o, "precision", row->precision);
  cli_json_real(o, "smape_percent", row->smape_percent);
  cli_json_real(o, "relative_error", row->relative_error);
  return o;
}

/* Which columns a kernel's lines have behind the median and the least time. */
enum { RATE = 1, FLOPS = 2, BOUND = 4, ERROR = 8, SIZE = 16, RANK = 32, RUNS = 64 };
struct layout {
  const char *kernel, *name, *detail; /* headings of the first columns */
  int width, columns;
};
enum { OF_KERNELS = RATE | FLOPS | BOUND | RANK | RUNS };
static const struct layout layouts[] = {
    {"mttkrp", "format", "mode", 4, OF_KERNELS | ERROR},
    {"ttmc", "format", "mode", 4, OF_KERNELS | ERROR},
    {"phi", "format", "mode", 4, OF_KERNELS | ERROR},
    {"pi", "format", "mode", 4, OF_KERNELS},
    {"build", "format", "", 0, RATE | BOUND | SIZE | RUNS},
    {"read", "part", "", 0, RATE | RUNS},
    {"stream", "loop", "kernel", 8, RATE | BOUND | ERROR | RUNS},
    {"roof", "roof", "size", 9, RATE | FLOPS | RANK | RUNS},
    {"end-to-end", "part", "format", 8, SIZE | RANK},
    {"tile-threshold", "format", "kernel and tensor", 43, RANK | RUNS},
};

static const struct layout *layout_of(const struct bench *bench) {
  size_t k = 0;
  while (strcmp(layouts[k].kernel, bench->kernel) != 0)
    ++k;
  return &layouts[k];
}

/* What is measured: the tensor, the numbers and the machine. */
static void print_subject(const struct bench *bench, const struct layout *layout) {
  const struct cli_session *session = &bench->session;
  const polyad_tensor *tensor = bench->file != NULL ? bench->tensor : NULL;
  int threads = polyad_threads(session->context);
  printf("%s", bench->kernel);
  if (bench->file != NULL) printf(" of %s", bench->file);
  for (int n = 0; tensor != NULL && n < polyad_tensor_order(tensor); ++n)
    printf("%s%llu", n == 0 ? ": " : " x ", (unsigned long long)polyad_tensor_dims(tensor)[n]);
  if (tensor != NULL) printf(", %llu nonzeros", (unsigned long long)polyad_tensor_nnz(tensor));
  puts("");
  if (layout->columns & RANK) printf("rank %llu, ", (unsigned long long)bench->rank);
  if (!bench->errors) printf("%s, ", session->precision);
  printf("%s, %d thread%s", polyad_device(session->context), threads, threads == 1 ? "" : "s");
  if (layout->columns & RUNS)
    printf(", timed runs: %llu, before them: %llu", (unsigned long long)bench->repeat,
           (unsigned long long)bench->warmup);
  puts("");
}

/* An item of a list of formats stands in the first column, or in the second behind parts. */
enum { ITEM_WIDTH = 30 };

static bool has_parts(const struct layout *layout) { return strcmp(layout->name, "part") == 0; }

static int name_width(const struct bench *bench, const struct layout *layout) {
  return bench->item_count > 0 && !has_parts(layout) ? ITEM_WIDTH : bench->portable ? 15 : 10;
}

static int detail_width(const struct bench *bench, const struct layout *layout) {
  return bench->item_count > 0 && has_parts(layout) ? ITEM_WIDTH : layout->width;
}

static const char *name_of(const struct bench *bench, const struct layout *layout,
                           const struct bench_row *row) {
  if (row->label != NULL) return row->label;
  return bench->item != NULL && !has_parts(layout) ? bench->item : row->format;
}

static const char *detail_of(const struct bench *bench, const struct layout *layout,
                             const struct bench_row *row) {
  return bench->item != NULL && has_parts(layout) ? bench->item : row->variant;
}

static void print_heading(const struct bench *bench, const struct layout *layout) {
  print_subject(bench, layout);
  printf("%-*s %-*s", name_width(bench, layout), layout->name, detail_width(bench, layout),
         layout->detail);
  if (bench->warm && bench->cold) printf(" cache");
  if (bench->errors) printf(" precision");
  if (layout->columns & RUNS)
    printf(" %10s %10s", "median ms", "least ms");
  else
    printf(" %10s", "ms");
  if (layout->columns & RATE) printf(" %8s", "GB/s");
  if (layout->columns & FLOPS) printf(" %8s", "Gflop/s");
  if (layout->columns & BOUND) printf(" %9s %7s", "bound ms", "reached");
  if (layout->columns & SIZE) printf(" %10s", "MB");
  if (layout->columns & ERROR) printf(" %9s", "error");
  if (bench->errors) printf(" %9s %9s", "relative", "SMAPE");
  puts("");
}

/* A number, or - where there is none. */
static void print_number(int width, int digits, double value, const char *unit) {
  if (isfinite(value))
    printf(" %*.*f%s", width, digits, value, unit);
  else
    printf(" %*s", width + (int)strlen(unit), "-");
}

static void print_error(double error) {
  if (isfinite(error))
    printf(" %9.1e", error);
  else
    printf(" %9s", "-");
}

static void print_row(const struct bench *bench, const struct bench_row *row) {
  const struct layout *layout = layout_of(bench);
  char mode[16];
  snprintf(mode, sizeof mode, "%d", row->mode);
  int width = detail_width(bench, layout);
  printf("%-*s %-*.*s", name_width(bench, layout), name_of(bench, layout, row), width, width,
         row->mode > 0 ? mode : detail_of(bench, layout, row));
  if (bench->warm && bench->cold) printf(" %-5s", row->cold ? "cold" : "warm");
  if (bench->errors) printf(" %-9s", row->precision);
  printf(" %10.3f", 1e3 * row->median);
  if (layout->columns & RUNS) printf(" %10.3f", 1e3 * row->least);
  if (layout->columns & RATE)
    print_number(8, 2, 1e-9 * ratio(known(row->bytes_moved), row->median), "");
  if (layout->columns & FLOPS) print_number(8, 2, 1e-9 * ratio(known(row->flops), row->median), "");
  if (layout->columns & BOUND) {
    print_number(9, 3, 1e3 * known(row->bound_seconds), "");
    double share = bench_share(row->bound_seconds, row->median);
    if (row->bound_seconds > 0 && row->median > 0 && !isfinite(share))
      printf(" %7s", "invalid");
    else
      print_number(6, 0, 100 * share, "%");
  }
  if (layout->columns & SIZE) print_number(10, 3, 1e-6 * known((double)row->bytes_format), "");
  if (layout->columns & ERROR) print_error(row->max_relative_error);
  if (bench->errors) {
    print_error(row->relative_error);
    printf(" %8.2g%%", row->smape_percent);
  }
  puts("");
}

void bench_add(struct bench *bench, const struct bench_row *row) {
  cJSON *o = row_object(row);
  if (bench->item != NULL) cli_json_text(o, "item", bench->item);
  cJSON_AddItemToArray(bench->rows, o);
  if (!cli_shows_results(&bench->session, NULL)) return;
  if (cJSON_GetArraySize(bench->rows) == 1) print_heading(bench, layout_of(bench));
  print_row(bench, row);
  fflush(stdout);
}

/* Numbers are written as text, so that they keep all digits. */
static double number_of(const cJSON *row, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, key);
  return cJSON_IsRaw(item) ? strtod(item->valuestring, NULL) : NAN;
}

static const char *text_of(const cJSON *row, const char *key) {
  const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, key));
  return text != NULL ? text : "";
}

/* The fastest row of a mode with such caches; NULL when there is none. */
static const cJSON *best_row(const cJSON *rows, int mode, const char *cache) {
  const cJSON *row, *best = NULL;
  cJSON_ArrayForEach(row, rows) {
    if (number_of(row, "mode") != mode || strcmp(text_of(row, "cache"), cache) != 0) continue;
    if (best == NULL || number_of(row, "median_seconds") < number_of(best, "median_seconds"))
      best = row;
  }
  return best;
}

static const cJSON *find_row(const cJSON *rows, const char *format, int mode, const char *cache) {
  const cJSON *row, *found = NULL;
  cJSON_ArrayForEach(row, rows) {
    if (number_of(row, "mode") == mode && strcmp(text_of(row, "cache"), cache) == 0 &&
        strcmp(text_of(row, "format"), format) == 0)
      found = row;
  }
  return found;
}

static int modes_of(const struct bench *bench) { return polyad_tensor_order(bench->tensor); }

/* A line of the table: what the format took in each mode, the best marked, and what it cost. */
static void print_line(const struct bench *bench, const cJSON *first, const char *cache) {
  double sum = 0;
  const char *format = text_of(first, "format");
  printf("%-10s", format);
  for (int mode = 1; mode <= modes_of(bench); ++mode) {
    if (!bench_wants_mode(bench, mode - 1)) continue;
    const cJSON *mine = find_row(bench->rows, format, mode, cache);
    double median = mine != NULL ? number_of(mine, "median_seconds") : NAN;
    print_number(11, 3, 1e3 * median,
                 mine != NULL && mine == best_row(bench->rows, mode, cache) ? "*" : " ");
    sum += median;
  }
  if (bench->mode == 0) print_number(11, 3, 1e3 * sum, "");
  print_number(9, 3, number_of(first, "build_seconds"), "");
  print_number(10, 3, 1e-6 * number_of(first, "bytes_format"), "");
  puts(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(first, "tuned")) ? "  tuned" : "  plain");
}

static void print_table(const struct bench *bench, const char *cache) {
  const cJSON *row;
  const char *before = "";
  printf("\nmedian ms, %s caches; * the fastest\n%-10s", cache, "format");
  for (int mode = 1; mode <= modes_of(bench); ++mode)
    if (bench_wants_mode(bench, mode - 1)) printf("     mode %-2d ", mode);
  printf("%s   build s         MB  kernels\n", bench->mode == 0 ? "   all modes" : "");
  cJSON_ArrayForEach(row, bench->rows) {
    if (strcmp(text_of(row, "cache"), cache) != 0 || strcmp(text_of(row, "format"), before) == 0)
      continue;
    before = text_of(row, "format");
    print_line(bench, row, cache);
  }
}

void bench_best(struct bench *bench) {
  cJSON *row;
  cJSON_ArrayForEach(row, bench->rows) {
    const cJSON *best = best_row(bench->rows, (int)number_of(row, "mode"), text_of(row, "cache"));
    cli_json_bool(row, "best", row == best);
  }
  if (strcmp(bench->format, "all") != 0 || !cli_shows_results(&bench->session, NULL)) return;
  if (bench->warm) print_table(bench, "warm");
  if (bench->cold) print_table(bench, "cold");
}
