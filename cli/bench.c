/* polyad bench: measures kernels, reading and building; one JSON row per measurement. */
#include "bench.h"
#include "apr_options.h"
#include "command.h"
#include "names.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#ifndef POLYAD_COMMIT
#define POLYAD_COMMIT "unknown"
#endif

bool bench_interrupted(void) { return cli_signal_status() != 0 || ferror(stdout) != 0; }

/* A file, or "like:NAME[@SCALE]" generated in memory. */
int bench_load(struct bench *bench) {
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
  options.structure = cli_structure(bench->structure);
  options.type = cli_precision(session);
  if (polyad_generate(session->context, &options, &bench->tensor, NULL) != POLYAD_OK)
    return cli_library_failure(session->context);
  return 0;
}

static const struct {
  const char *name;
  int (*run)(struct bench *bench);
  enum { NO_FILE, FILE_ONLY, TENSOR } input; /* TENSOR: read before it runs */
} kernels[] = {{"mttkrp", bench_mttkrp, TENSOR},
               {"phi", bench_phi, TENSOR},
               {"pi", bench_pi, TENSOR},
               {"ttmc", bench_ttmc, TENSOR},
               {"build", bench_build, TENSOR},
               {"read", bench_read, FILE_ONLY},
               {"stream", bench_stream, NO_FILE},
               {"roof", bench_roof, NO_FILE},
               {"end-to-end", bench_end_to_end, FILE_ONLY},
               {"tile-threshold", bench_tile_threshold, NO_FILE}};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static int write_object(struct bench *bench, const char *command) {
  struct cli_session *session = &bench->session;
  polyad_context *context = session->context;
  polyad_device_description about;
  if (polyad_device_describe_named(context, polyad_device(context), &about) != POLYAD_OK)
    about = (polyad_device_description){.name = ""}; /* two that share the work */
  cJSON *o = cJSON_CreateObject();
  cli_json_text(o, "file", bench->file);
  cli_json_text(o, "structure", bench->structure);
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
  if (status == 0) status = bench_read_items(bench);
  if (status == 0) status = cli_check_outputs(session, outputs, 1, &bench->file, 1);
  if (status != 0) return status;
  bench->rows = cJSON_CreateArray();
  cli_phase(CLI_READ);
  if (kernels[which].input == TENSOR) status = bench_load(bench);
  if (status != 0) return status;
  cli_phase(CLI_ITERATIONS);
  cli_computing_begin(session);
  status = kernels[which].run(bench);
  cli_computing_end();
  cli_phase(CLI_WRITE);
  if (status == 0) status = write_object(bench, command);
  return status == 0 ? cli_finish_output() : status;
}

static int find_kernel(const char *name, int *which) {
  char quoted[CLI_QUOTE_BYTES];
  for (*which = 0; *which < KERNELS; ++*which)
    if (strcmp(kernels[*which].name, name) == 0) return 0;
  return cli_usage_error(
      "kernel %s is unknown; expected mttkrp, phi, pi, ttmc, build, read, stream, roof, "
      "end-to-end or tile-threshold",
      cli_quote(quoted, name));
}

static int check_choices(struct bench *bench, int which) {
  if (bench->file == NULL && kernels[which].input != NO_FILE)
    return cli_usage_error("a FILE is missing; see polyad bench --help");
  if (bench->structure != NULL && (bench->file == NULL || strncmp(bench->file, "like:", 5) != 0))
    return cli_usage_error("--structure is for like:NAME, not for a file");
  bool has = strcmp(bench->kernel, "mttkrp") == 0 || strcmp(bench->kernel, "ttmc") == 0;
  if (bench->errors && !has)
    return cli_usage_error("--error is for mttkrp and ttmc, not for %s", bench->kernel);
  if (bench->errors && (bench->session.compute != NULL || bench->portable ||
                        strcmp(bench->session.precision, "f64") != 0))
    return cli_usage_error(
        "--error measures every precision; leave out --precision, --compute and --portable");
  bool whole = strcmp(bench->kernel, "end-to-end") == 0;
  bool apr = cli_is_apr(bench->algorithm);
  if (!whole && (bench->algorithm != NULL || bench->fit > 0 || bench->max_iterations > 0 ||
                 bench->tolerance >= 0 || !isnan(bench->log_likelihood)))
    return cli_usage_error("--algorithm, --fit, --log-likelihood, --max-iters and --tol are for "
                           "end-to-end, not for %s",
                           bench->kernel);
  if (apr && bench->fit > 0)
    return cli_usage_error("--fit is for als; expected --log-likelihood with %s", bench->algorithm);
  if (!apr && !isnan(bench->log_likelihood))
    return cli_usage_error("--log-likelihood is for apr-...; expected --fit with als");
  if (bench->portable && (strcmp(bench->format, "all") == 0 || bench_is_list(bench->format)))
    return cli_usage_error("--portable compares with one format; expected --format auto or a name");
  return 0;
}

/* The command line as typed, for the record. */
static void join(int argc, char **argv, char *text, size_t size) {
  size_t at = (size_t)snprintf(text, size, "polyad");
  for (int k = 0; k < argc && at < size; ++k)
    at += (size_t)snprintf(text + at, size - at, " %s", argv[k]);
}

static const struct cli_option option_table[] = {
    CLI_HEADING("measurement"),
    CLI_OPTION(struct bench, COUNT, rank, "rank", "R", "columns of the factors (default 16)",
               .letter = 'r', .least = 1),
    CLI_OPTION(struct bench, CHOICE, structure, "structure", "KIND",
               "of like:NAME: fibers, flat, or auto (default), as for\ngenerate",
               .choices = CLI_STRUCTURES),
    CLI_OPTION(struct bench, COUNT, mode, "mode", "N",
               "one mode only, from 1 (default: every mode)", .least = 1, .most = POLYAD_MAX_ORDER),
    CLI_OPTION(struct bench, CHOICE, cache, "cache", "STATE",
               "mttkrp, ttmc, phi, pi: caches as the run before left\nthem (warm, default), "
               "emptied before each run (cold),\nor both",
               .choices = "warm cold both"),
    CLI_OPTION(struct bench, SHARE, fit, "fit", "F",
               "end-to-end: also the time until this fit is reached"),
    CLI_OPTION(struct bench, CHOICE, algorithm, "algorithm", "NAME",
               "end-to-end: als (default), apr-mu, apr-pdnr or apr-pqnr", .letter = 'a',
               .choices = "als apr-mu apr-pdnr apr-pqnr"),
    CLI_OPTION(struct bench, NUMBER, log_likelihood, "log-likelihood", "L",
               "end-to-end with apr-...: also the time until this\nlog-likelihood is reached"),
    CLI_OPTION(struct bench, COUNT, max_iterations, "max-iters", "N",
               "end-to-end: most iterations (default: as for cpd)", .letter = 'i', .least = 1,
               .most = 999999999),
    CLI_OPTION(struct bench, REAL, tolerance, "tol", "X",
               "end-to-end: tolerance (default: as for cpd)"),
    CLI_OPTION(struct bench, COUNT, repeat, "repeat", "N", "timed runs (default 10)", .least = 1,
               .most = 1000000),
    CLI_OPTION(struct bench, COUNT, warmup, "warmup", "N", "runs before them (default 2)",
               .most = 1000000),
    CLI_OPTION(struct bench, FLAG, portable, "portable", NULL,
               "stream, mttkrp, phi, pi: also the kernels written once\nfor all devices, in turn "
               "with the tuned ones"),
    CLI_OPTION(struct bench, FLAG, errors, "error", NULL,
               "mttkrp, ttmc: in f64, f32 and what else a format\ncomputes in (tf32, bf16, f16), "
               "each against exact sums\nof the numbers in f64"),
    CLI_OPTION(struct bench, COUNT, elements, "elements", "N",
               "stream: numbers in each array (default 16777216)", .least = 1,
               .most = UINT64_C(1) << 40),
    CLI_STORAGE_OPTIONS(struct bench, "all, auto (default), or NAME[:VARIANT][:KEY=N]... as\n"
                                      "polyad formats lists them; several: with commas"),
    CLI_TUNE_OPTIONS(struct bench),
    CLI_READ_OPTIONS(struct bench),
    CLI_COMMON_OPTIONS(struct bench)};

const struct cli_usage cli_bench_usage = {
    .command = "bench",
    .synopsis = "KERNEL [FILE | like:NAME[@SCALE]] [options]",
    .summary =
        "Measures KERNEL on this machine, all modes unless --mode is given:\n"
        "  mttkrp          matricised tensor times Khatri-Rao product, CP-ALS's kernel\n"
        "  ttmc            tensor-times-matrix chain, Tucker's kernel, R columns in every mode\n"
        "  phi, pi         CP-APR's kernels (pi: of formats that store it)\n"
        "  build           storing the tensor in a format\n"
        "  read            reading FILE\n"
        "  end-to-end      reading, building and decomposing (CP-ALS, or --algorithm)\n"
        "  stream          STREAM's loops: copy, scale, add, triad\n"
        "  roof            what bounds kernels: copy, gather, add, flops\n"
        "  tile-threshold  nonzeros from which a dense tile is faster, kept for --tune\n"
        "Results of kernels are compared with sums in higher precision before a time is printed:\n"
        "error is the largest difference over the sum of the magnitudes of its terms. GB/s counts\n"
        "every nonzero's indices and value, its factor rows, and the output once. The bound is\n"
        "the longest of three: nonzeros, factors and output once as fast as a copy of that size;\n"
        "one factor row per nonzero gathered from the mode where that is fastest; two flops per\n"
        "nonzero and column; of build the tensor read and the format written as fast as a copy.\n"
        "These rates of the machine are measured first; reached is the bound's share of the\n"
        "median, and invalid above 120%: the machine was busy then.",
    .example = "  polyad bench mttkrp like:uber -r 32 --format all",
    CLI_OPTIONS(option_table),
    .least_arguments = 1,
    .most_arguments = 2,
    .measures = true};

int cli_bench(int argc, char **argv) {
  struct bench bench = {.format = "auto",
                        .variant = "auto",
                        .cache = "warm",
                        .rank = 16,
                        .repeat = 10,
                        .warmup = 2,
                        .tolerance = -1,
                        .sweeps = INFINITY,
                        .log_likelihood = NAN};
  char command[2048];
  join(argc, argv, command, sizeof command);
  cli_session_init(&bench.session);
  int first, which, status = cli_parse(&cli_bench_usage, argc, argv, &bench, &first);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  bench.kernel = argv[first];
  bench.warm = strcmp(bench.cache, "cold") != 0;
  bench.cold = strcmp(bench.cache, "warm") != 0;
  bench.file = first + 1 < argc ? argv[first + 1] : NULL;
  status = find_kernel(bench.kernel, &which);
  if (status != 0) return status;
  status = check_choices(&bench, which);
  if (status == 0) status = run(&bench, which, command);
  cJSON_Delete(bench.rows);
  polyad_tensor_destroy(bench.tensor);
  bench_free_items(&bench);
  cli_session_close(&bench.session);
  return status;
}
