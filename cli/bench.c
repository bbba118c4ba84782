/* polyad bench: measures kernels, reading and building; one JSON row per measurement. */
#include "bench.h"
#include "command.h"
#include "names.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef POLYAD_COMMIT
#define POLYAD_COMMIT "unknown"
#endif

double bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool bench_interrupted(void) { return cli_signal_status() != 0; }

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

void bench_add(struct bench *bench, const struct bench_row *row) {
  cJSON *o = cJSON_CreateObject();
  cli_json_text(o, "format", row->format);
  cli_json_text(o, "variant", row->variant[0] != '\0' ? row->variant : NULL);
  if (row->mode > 0)
    cli_json_count(o, "mode", (uint64_t)row->mode);
  else
    cJSON_AddNullToObject(o, "mode");
  cli_json_real(o, "median_seconds", row->median);
  cli_json_real(o, "min_seconds", row->least);
  cli_json_real(o, "max_seconds", row->most);
  cli_json_count(o, "runs", (uint64_t)row->runs);
  cli_json_real(o, "flops", row->flops > 0 ? row->flops : NAN);
  cli_json_real(o, "bytes_moved", row->bytes_moved > 0 ? row->bytes_moved : NAN);
  cli_json_real(o, "gflops", row->flops > 0 ? 1e-9 * ratio(row->flops, row->median) : NAN);
  cli_json_real(o, "gbytes_per_second",
                row->bytes_moved > 0 ? 1e-9 * ratio(row->bytes_moved, row->median) : NAN);
  cli_json_real(o, "bound_seconds", row->bound_seconds > 0 ? row->bound_seconds : NAN);
  cli_json_real(o, "bound_share",
                row->bound_seconds > 0 ? ratio(row->bound_seconds, row->median) : NAN);
  cli_json_real(o, "build_seconds", row->build_seconds > 0 ? row->build_seconds : NAN);
  if (row->bytes_format > 0)
    cli_json_count(o, "bytes_format", row->bytes_format);
  else
    cJSON_AddNullToObject(o, "bytes_format");
  cli_json_real(o, "max_relative_error", row->max_relative_error);
  cJSON_AddItemToArray(bench->rows, o);
  if (!cli_shows_results(&bench->session, NULL)) return;
  if (cJSON_GetArraySize(bench->rows) == 1)
    printf("%-10s %-5s %14s %14s\n", bench->kernel, "mode", "median", "least");
  printf("%-10s %-5s %11.3f ms %11.3f ms", row->format,
         row->mode > 0
             ? (char[]){(char)('0' + row->mode / 10 % 10), (char)('0' + row->mode % 10), '\0'}
             : "all",
         1e3 * row->median, 1e3 * row->least);
  if (row->bytes_moved > 0) printf(" %8.2f GB/s", 1e-9 * ratio(row->bytes_moved, row->median));
  if (row->flops > 0) printf(" %8.2f GF/s", 1e-9 * ratio(row->flops, row->median));
  if (row->bound_seconds > 0)
    printf("  %3.0f%% of bound", 100 * ratio(row->bound_seconds, row->median));
  if (isfinite(row->max_relative_error)) printf("  error %.1e", row->max_relative_error);
  puts("");
  fflush(stdout);
}

/* A file, or "like:NAME[@SCALE]" generated in memory. */
static int load(struct bench *bench) {
  struct cli_session *session = &bench->session;
  if (strncmp(bench->file, "like:", 5) != 0)
    return cli_read_tensor(session, bench->file, &bench->tensor);
  char name[64], quoted[CLI_QUOTE_BYTES];
  const char *scale = strchr(bench->file, '@');
  size_t length = scale == NULL ? strlen(bench->file + 5) : (size_t)(scale - bench->file) - 5;
  polyad_generate_options options;
  polyad_generate_options_init(&options);
  if (length >= sizeof name ||
      (scale != NULL && (!cli_read_real(scale + 1, &options.scale) || !(options.scale > 0))))
    return cli_usage_error("%s found; expected like:NAME or like:NAME@SCALE",
                           cli_quote(quoted, bench->file));
  memcpy(name, bench->file + 5, length);
  name[length] = '\0';
  int status = cli_check_like(name);
  if (status != 0) return status;
  options.like = name;
  options.type = cli_precision(session);
  if (polyad_generate(session->context, &options, &bench->tensor, NULL) != POLYAD_OK)
    return cli_library_failure(session->context);
  return 0;
}

static const struct {
  const char *name;
  int (*run)(struct bench *bench);
  bool tensor;                          /* needs one in memory */
  int (*portable)(struct bench *bench); /* with --portable; NULL: the same */
} kernels[] = {{"mttkrp", bench_mttkrp, true, bench_mttkrp_portable},
               {"phi", bench_phi, true, NULL},
               {"pi", bench_pi, true, NULL},
               {"ttmc", bench_ttmc, true, NULL},
               {"build", bench_build, true, NULL},
               {"read", bench_read, false, NULL},
               {"stream", bench_stream, false, NULL},
               {"end-to-end", bench_end_to_end, false, NULL},
               {"tile-threshold", bench_tile_threshold, false, NULL}};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static int write_object(struct bench *bench, const char *command) {
  struct cli_session *session = &bench->session;
  polyad_context *context = session->context;
  polyad_device_description about = {.name = ""};
  /* The devices before it only: looking at all of them loads their drivers. */
  for (int k = 0; polyad_device_describe(context, k, &about) == POLYAD_OK; ++k)
    if (strcmp(about.name, polyad_device(context)) == 0) break;
  cJSON *o = cJSON_CreateObject();
  cli_json_text(o, "file", bench->file);
  int order = bench->tensor != NULL ? polyad_tensor_order(bench->tensor) : 0;
  cli_json_count(o, "order", (uint64_t)order);
  cli_json_counts(o, "dims", order > 0 ? polyad_tensor_dims(bench->tensor) : NULL, order);
  cli_json_count(o, "nnz", bench->tensor != NULL ? polyad_tensor_nnz(bench->tensor) : 0);
  cli_json_count(o, "seed", session->seed);
  cli_json_text(o, "kernel", bench->kernel);
  cli_json_count(o, "rank", bench->rank);
  cli_json_text(o, "precision", session->precision);
  cli_json_text(o, "device", polyad_device(context));
  cli_json_text(o, "device_name", about.description);
  cli_json_text(o, "driver", about.capability);
  cli_json_count(o, "threads", (uint64_t)polyad_threads(context));
  cli_json_text(o, "version", polyad_version());
  cli_json_text(o, "commit", POLYAD_COMMIT);
  cli_json_text(o, "command", command);
  cJSON_AddItemToObject(o, "results", bench->rows);
  bench->rows = NULL;
  return cli_json_write(session, o);
}

static int run(struct bench *bench, int which, const char *command) {
  struct cli_session *session = &bench->session;
  int status = cli_session_open(session);
  const struct cli_output outputs[] = {{"--json", session->json}};
  if (status == 0) status = cli_check_outputs(session, outputs, 1, &bench->file, 1);
  if (status != 0) return status;
  bench->rows = cJSON_CreateArray();
  if (kernels[which].tensor) status = load(bench);
  if (status != 0) return status;
  cli_computing_begin(session);
  bool portable = bench->portable && kernels[which].portable != NULL;
  status = (portable ? kernels[which].portable : kernels[which].run)(bench);
  cli_computing_end();
  if (status == 0) status = write_object(bench, command);
  if (status == 0) status = cli_finish_output();
  return status == 0 ? cli_signal_status() : status;
}

static int find_kernel(const char *name, int *which) {
  char quoted[CLI_QUOTE_BYTES];
  for (*which = 0; *which < KERNELS; ++*which)
    if (strcmp(kernels[*which].name, name) == 0) return 0;
  static const char *const later[] = {"roof"};
  for (int k = 0; k < 1; ++k)
    if (strcmp(later[k], name) == 0) return cli_failure("kernel %s is not in this build", name);
  return cli_usage_error(
      "kernel %s is unknown; expected mttkrp, phi, pi, ttmc, build, read, stream, end-to-end or "
      "tile-threshold",
      cli_quote(quoted, name));
}

/* The command line as typed, for the record. */
static void join(int argc, char **argv, char *text, size_t size) {
  size_t at = (size_t)snprintf(text, size, "polyad");
  for (int k = 0; k < argc && at < size; ++k)
    at += (size_t)snprintf(text + at, size - at, " %s", argv[k]);
}

int cli_bench(int argc, char **argv) {
  struct bench bench = {.format = "auto", .variant = "auto", .rank = 16, .repeat = 10, .warmup = 2};
  char command[2048];
  join(argc, argv, command, sizeof command);
  cli_session_init(&bench.session);
  const struct cli_option options[] = {
      {.kind = CLI_GROUP, .help = "measurement"},
      {.name = "rank",
       .letter = 'r',
       .kind = CLI_COUNT,
       .target = &bench.rank,
       .argument = "R",
       .help = "columns of the factors (default 16)",
       .least = 1},
      {.name = "format",
       .kind = CLI_TEXT,
       .target = &bench.format,
       .argument = "NAME",
       .help = "a format, all, or auto (default)"},
      {.name = "variant",
       .kind = CLI_TEXT,
       .target = &bench.variant,
       .argument = "NAME",
       .help = "variant of the format"},
      CLI_PARTITION_OPTIONS(bench.session),
      {.name = "mode",
       .kind = CLI_COUNT,
       .target = &bench.mode,
       .argument = "N",
       .help = "one mode only, from 1 (default: every mode)",
       .least = 1,
       .most = POLYAD_MAX_ORDER},
      {.name = "repeat",
       .kind = CLI_COUNT,
       .target = &bench.repeat,
       .argument = "N",
       .help = "timed runs (default 10)",
       .least = 1,
       .most = 1000000},
      {.name = "warmup",
       .kind = CLI_COUNT,
       .target = &bench.warmup,
       .argument = "N",
       .help = "runs before them (default 2)",
       .most = 1000000},
      {.name = "portable",
       .kind = CLI_FLAG,
       .target = &bench.portable,
       .help = "stream, mttkrp, phi, pi: also the kernels written once\nfor all "
               "devices, in turn with the tuned ones"},
      {.name = "elements",
       .kind = CLI_COUNT,
       .target = &bench.elements,
       .argument = "N",
       .help = "stream: numbers in each array (default 16777216)",
       .least = 1,
       .most = UINT64_C(1) << 40},
      CLI_READ_OPTIONS(bench.session),
      CLI_COMMON_OPTIONS(bench.session)};
  const struct cli_usage usage = {
      .command = "bench",
      .synopsis = "KERNEL [FILE | like:NAME[@SCALE]] [options]",
      .summary =
          "Measures on this machine: mttkrp, ttmc and CP-APR's phi and pi (per mode and format,\n"
          "results checked; pi by formats that store it), build,\n"
          "read, stream (copy, scale, add, triad) end-to-end (read, build, decompose) or\n"
          "tile-threshold (hls: nonzeros from which a dense tile is faster).\n"
          "bytes_moved of mttkrp: every nonzero's indices and value, its factor rows, and the\n"
          "output once; bound: nonzeros, factors and output once at triad bandwidth.",
      .example = "  polyad bench mttkrp like:uber -r 32 --format all",
      .options = options,
      .option_count = (int)(sizeof options / sizeof *options),
      .least_arguments = 1,
      .most_arguments = 2};
  int first, which, status = cli_parse(&usage, argc, argv, &first);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  bench.kernel = argv[first];
  bench.file = first + 1 < argc ? argv[first + 1] : NULL;
  status = find_kernel(bench.kernel, &which);
  if (status != 0) return status;
  status = cli_check_format(bench.format, true);
  if (status != 0) return status;
  if (bench.file == NULL && strcmp(bench.kernel, "stream") != 0 &&
      strcmp(bench.kernel, "tile-threshold") != 0)
    return cli_usage_error("a FILE is missing; see polyad bench --help");
  status = run(&bench, which, command);
  cJSON_Delete(bench.rows);
  polyad_tensor_destroy(bench.tensor);
  cli_session_close(&bench.session);
  return status;
}
