/* polyad plan: what several processes would make of a tensor, counted before they are there. */
#include "command.h"
#include "json.h"
#include "names.h"
#include "phases.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SIZES_MOST = 12, USUAL_MOST = 1024, RANKS_MOST = 65536, ITERATIONS = 5 };

struct plan {
  struct cli_session session;
  const char *file, *format, *network, *host_bandwidth;
  uint64_t rank, ranks, ranks_per_host, memory;
  double latency, host_latency, seconds;
  polyad_tensor *tensor;
  polyad_scale_options options;
  int sizes[SIZES_MOST], count;
  polyad_scale *scale;
  polyad_team_info *members; /* of --ranks */
};

/* ---- options --------------------------------------------------------------------------------- */

static const struct cli_option option_table[] = {
    CLI_HEADING("decomposition"),
    CLI_OPTION(struct plan, COUNT, rank, "rank", "R", "components (required)", .letter = 'r',
               .least = 1),
    CLI_OPTION(struct plan, TEXT, format, "format", "FORMAT", CLI_FORMAT_HELP),
    CLI_HEADING("machines"),
    CLI_OPTION(struct plan, COUNT, ranks, "ranks", "N",
               "processes, told of one by one in the JSON object;\nbesides 1, 2, 4, ... 1024",
               .least = 1, .most = RANKS_MOST),
    CLI_OPTION(
        struct plan, SIZE, memory, "memory", "SIZE",
        "memory of each process, such as 128G: says which\nnumbers of processes have enough"),
    CLI_OPTION(struct plan, TEXT, network, "network", "RATE",
               "of each machine, such as 100Gbit (default) or, in\nbytes, 12G a second"),
    CLI_OPTION(struct plan, REAL, latency, "latency", "SECONDS", "of a message (default 5e-6)"),
    CLI_OPTION(struct plan, COUNT, ranks_per_host, "ranks-per-host", "N",
               "processes of one machine, which share its memory,\nprocessors and network "
               "(default 1)",
               .least = 1, .most = RANKS_MOST),
    CLI_OPTION(struct plan, TEXT, host_bandwidth, "host-bandwidth", "RATE",
               "of a machine's memory, such as 200G, in bytes that\nall processors read and write "
               "a second (default:\nmeasured here)"),
    CLI_OPTION(struct plan, REAL, host_latency, "host-latency", "SECONDS",
               "of a message within a machine (default 1e-6)"),
    CLI_OPTION(struct plan, REAL, seconds, "seconds", "S",
               "of an iteration by one process of those machines\n(default: measured here, with "
               "--threads)"),
    CLI_READ_OPTIONS(struct plan),
    CLI_COMMON_OPTIONS_ON(struct plan, CLI_DEVICE_CPU)};

const struct cli_usage cli_plan_usage = {
    .command = "plan",
    .synopsis = "FILE -r RANK [options]",
    .summary =
        "Says what CP-ALS of the tensor in FILE by several processes would take, before they\n"
        "are there: the grid, nonzeros and rows of factors in each, bytes that travel, all\n"
        "counted on the tensor; memory, time and efficiency, estimated from the counts and\n"
        "from the time of iterations that are run here.",
    .example = "  polyad plan big.ptn -r 32 --ranks 64 --memory 128G --network 100Gbit",
    CLI_OPTIONS(option_table),
    .least_arguments = 1,
    .most_arguments = 1,
    .measures = true};

/* Bits or bytes a second: "100Gbit" (powers of ten) or a size. */
static bool read_rate(const char *text, double *bytes) {
  static const char *const units[] = {"bit", "Kbit", "Mbit", "Gbit", "Tbit"};
  size_t digits = strspn(text, "0123456789.");
  char number[24];
  uint64_t size;
  double scale = 1;
  if (digits < sizeof number) {
    memcpy(number, text, digits);
    number[digits] = '\0';
    for (int k = 0; k < 5; ++k, scale *= 1000)
      if (strcasecmp(text + digits, units[k]) == 0)
        return cli_read_real(number, bytes) && (*bytes *= scale / 8) > 0;
  }
  if (!cli_read_size(text, &size) || size == 0) return false;
  *bytes = (double)size;
  return true;
}

static int parse(struct plan *plan, int argc, char **argv) {
  char quoted[CLI_QUOTE_BYTES];
  int first, status = cli_parse(&cli_plan_usage, argc, argv, plan, &first);
  if (status != 0) return status;
  plan->file = argv[first];
  if (plan->rank == 0) return cli_usage_error("the rank is missing; give -r R");
  polyad_scale_options_init(&plan->options);
  plan->options.rank = plan->rank;
  plan->options.precision = cli_precision(&plan->session);
  plan->options.latency = plan->latency;
  plan->options.host_latency = plan->host_latency;
  plan->options.ranks_per_host = (int)plan->ranks_per_host;
  if (plan->network != NULL && !read_rate(plan->network, &plan->options.bytes_per_second))
    return cli_usage_error("--network %s found; expected a rate such as 100Gbit, 25Gbit or 12G",
                           cli_quote(quoted, plan->network));
  if (plan->host_bandwidth != NULL &&
      !read_rate(plan->host_bandwidth, &plan->options.host_bytes_per_second))
    return cli_usage_error("--host-bandwidth %s found; expected a rate such as 200G",
                           cli_quote(quoted, plan->host_bandwidth));
  if (plan->ranks_per_host > 1 && plan->seconds > 0 && plan->host_bandwidth == NULL)
    return cli_usage_error("--seconds of another machine, whose processes share a memory, but not "
                           "its rate; give --host-bandwidth RATE");
  for (int size = 1; size <= USUAL_MOST; size *= 2) {
    if (plan->ranks > 0 && (int)plan->ranks < size && (int)plan->ranks > size / 2)
      plan->sizes[plan->count++] = (int)plan->ranks;
    plan->sizes[plan->count++] = size;
  }
  if (plan->ranks > USUAL_MOST) plan->sizes[plan->count++] = (int)plan->ranks;
  return 0;
}

/* ---- one process ------------------------------------------------------------------------------
 */

static polyad_status run_iterations(struct plan *plan, const polyad_plan *stored,
                                    polyad_run_info *info) {
  polyad_cp_als_options options;
  polyad_ktensor *model = NULL;
  polyad_cp_als_options_init(&options);
  options.rank = plan->rank;
  options.run.max_iterations = ITERATIONS;
  options.run.tolerance = 0;
  polyad_status status = polyad_cp_als(plan->session.context, stored, &options, &model, info);
  polyad_ktensor_destroy(model);
  return status;
}

/* Times of an iteration by one process, and the bytes of its format. */
static polyad_status measure(struct plan *plan) {
  polyad_context *context = plan->session.context;
  polyad_plan_options options;
  polyad_plan *stored = NULL;
  polyad_run_info info;
  memset(&info, 0, sizeof info);
  polyad_plan_options_init(&options);
  options.format = plan->format;
  options.rank = plan->rank;
  cli_set_types(&plan->session, &options);
  if (plan->seconds > 0) {
    plan->options.seconds_mttkrp = plan->seconds;
    return polyad_format_estimate_bytes(context, plan->tensor, &options,
                                        &plan->options.bytes_format);
  }
  cli_phase(CLI_BUILD);
  polyad_status status = polyad_plan_create(context, plan->tensor, &options, &stored);
  if (status != POLYAD_OK) return status;
  plan->options.bytes_format = polyad_plan_bytes(stored);
  cli_phase(CLI_ITERATIONS);
  status = run_iterations(plan, stored, &info);
  for (int n = 0; n < polyad_plan_order(stored); ++n)
    plan->options.seconds_mttkrp += info.seconds_mttkrp[n];
  plan->options.seconds_other = info.seconds_per_iteration - plan->options.seconds_mttkrp;
  if (plan->options.seconds_other < 0) plan->options.seconds_other = 0;
  polyad_run_info_clear(&info);
  polyad_plan_destroy(stored);
  return status;
}

/* What a machine gives its processes; a rate of its memory that was given holds. */
static polyad_status measure_host(struct plan *plan) {
  double given = plan->options.host_bytes_per_second;
  if (plan->options.ranks_per_host == 1 || plan->seconds > 0) return POLYAD_OK;
  polyad_status status =
      polyad_scale_measure_host(plan->session.context, plan->tensor, &plan->options);
  if (given > 0) plan->options.host_bytes_per_second = given;
  return status;
}

static polyad_status predict(struct plan *plan) {
  polyad_status status = measure(plan);
  if (status == POLYAD_OK) status = measure_host(plan);
  for (int k = 0; k < plan->count && status == POLYAD_OK; ++k)
    status = polyad_scale_predict(plan->session.context, plan->tensor, &plan->options,
                                  plan->sizes[k], &plan->scale[k],
                                  plan->sizes[k] == (int)plan->ranks ? plan->members : NULL);
  return status;
}

/* ---- what is told -----------------------------------------------------------------------------
 */

static bool fits(const struct plan *plan, const polyad_scale *scale) {
  return plan->memory == 0 || scale->most_bytes <= plan->memory;
}

static void print_row(const struct plan *plan, const polyad_scale *scale) {
  char grid[8 * POLYAD_MAX_ORDER] = "", memory[32], sent[32];
  size_t length = 0;
  for (int n = 0; n < polyad_tensor_order(plan->tensor); ++n)
    length += (size_t)snprintf(grid + length, sizeof grid - length, "%s%d", n > 0 ? "x" : "",
                               scale->grid[n]);
  printf("%6d %-12s %12llu %12llu %10s%c %10s %10.3g %10.3g %9.1f%%\n", scale->size, grid,
         (unsigned long long)scale->most_nnz, (unsigned long long)scale->most_rows_read,
         cli_bytes(memory, scale->most_bytes), fits(plan, scale) ? ' ' : '!',
         cli_bytes(sent, scale->most_bytes_sent), scale->seconds_compute, scale->seconds,
         100 * scale->efficiency);
}

static void print_hosts(const struct plan *plan) {
  const polyad_scale_options *options = &plan->options;
  char rate[32];
  if (options->ranks_per_host == 1) return;
  printf("%d processes share a machine, whose memory moves %s a second", options->ranks_per_host,
         cli_bytes(rate, (uint64_t)options->host_bytes_per_second));
  if (options->process_bytes_per_second > 0)
    printf(
        " and,\nfor one process alone, %s; its processors gather rows %.3g times as fast as one\n"
        "process",
        cli_bytes(rate, (uint64_t)options->process_bytes_per_second), options->host_speedup);
  printf("; a message within it takes %.3g s\n\n", options->host_latency);
}

static void print_text(const struct plan *plan) {
  char rate[32];
  printf("one iteration of CP-ALS, rank %llu, takes one process %.4g s (%s); the network brings\n"
         "%s a second, a message takes %.3g s\n\n",
         (unsigned long long)plan->rank, plan->options.seconds_mttkrp + plan->options.seconds_other,
         plan->seconds > 0 ? "given" : "measured here",
         cli_bytes(rate, (uint64_t)plan->options.bytes_per_second), plan->options.latency);
  print_hosts(plan);
  printf("%6s %-12s %12s %12s %10s  %10s %10s %10s %10s\n", "ranks", "grid", "nonzeros", "rows",
         "memory", "sent", "compute s", "seconds", "efficiency");
  for (int k = 0; k < plan->count; ++k)
    print_row(plan, &plan->scale[k]);
  puts("\nOf the process that has most: nonzeros, rows of factors that it reads, memory, bytes "
       "that it\nsends in an iteration. Seconds are of an iteration, with the network.");
  if (plan->memory > 0) puts("! more memory than --memory");
}

static void add_members(const struct plan *plan, cJSON *object) {
  cJSON *array = cJSON_AddArrayToObject(object, "members");
  for (int k = 0; k < (int)plan->ranks; ++k) {
    const polyad_team_info *member = &plan->members[k];
    cJSON *o = cJSON_CreateObject();
    cli_json_count(o, "rank", (uint64_t)member->rank);
    cli_json_count(o, "nnz", member->nnz);
    cli_json_count(o, "rows_read", member->rows_read);
    cli_json_count(o, "rows_owned", member->rows_owned);
    cli_json_count(o, "bytes", member->peak_bytes);
    cli_json_count(o, "bytes_sent", member->bytes_sent);
    cli_json_real(o, "seconds_network", member->seconds);
    cJSON_AddItemToArray(array, o);
  }
}

static void add_prediction(const struct plan *plan, const polyad_scale *scale, cJSON *array) {
  uint64_t grid[POLYAD_MAX_ORDER], nnz = polyad_tensor_nnz(plan->tensor);
  int order = polyad_tensor_order(plan->tensor);
  cJSON *o = cJSON_CreateObject();
  for (int n = 0; n < order; ++n)
    grid[n] = (uint64_t)scale->grid[n];
  cli_json_count(o, "ranks", (uint64_t)scale->size);
  cli_json_counts(o, "grid", grid, order);
  cli_json_count(o, "nnz_most", scale->most_nnz);
  cli_json_real(o, "imbalance", (double)scale->most_nnz * scale->size / (double)nnz);
  cli_json_count(o, "rows_read_most", scale->most_rows_read);
  cli_json_count(o, "rows_owned_most", scale->most_rows_owned);
  cli_json_count(o, "bytes_sent", scale->bytes_sent);
  cli_json_count(o, "bytes_sent_most", scale->most_bytes_sent);
  cli_json_count(o, "bytes_most", scale->most_bytes);
  cli_json_bool(o, "fits", fits(plan, scale));
  cli_json_real(o, "seconds_compute", scale->seconds_compute);
  cli_json_real(o, "seconds_network", scale->seconds_network);
  cli_json_real(o, "seconds", scale->seconds);
  cli_json_real(o, "efficiency", scale->efficiency);
  if (scale->size == (int)plan->ranks) add_members(plan, o);
  cJSON_AddItemToArray(array, o);
}

/* Rates that were not asked for are null. */
static void add_hosts(const polyad_scale_options *options, cJSON *object) {
  double process = options->process_bytes_per_second, speedup = options->host_speedup;
  bool shared = options->ranks_per_host > 1;
  cli_json_count(object, "ranks_per_host", (uint64_t)options->ranks_per_host);
  cli_json_real(object, "host_bytes_per_second", shared ? options->host_bytes_per_second : NAN);
  cli_json_real(object, "process_bytes_per_second", process > 0 ? process : NAN);
  cli_json_real(object, "host_speedup", speedup > 0 ? speedup : NAN);
  cli_json_real(object, "host_latency", options->host_latency);
}

static int report(struct plan *plan) {
  cJSON *object = cJSON_CreateObject();
  int order = polyad_tensor_order(plan->tensor);
  cli_json_text(object, "file", plan->file);
  cli_json_counts(object, "dims", polyad_tensor_dims(plan->tensor), order);
  cli_json_count(object, "nnz", polyad_tensor_nnz(plan->tensor));
  cli_json_count(object, "rank", plan->rank);
  cli_json_text(object, "precision", plan->options.precision == POLYAD_F32 ? "f32" : "f64");
  cli_json_count(object, "threads", (uint64_t)polyad_threads(plan->session.context));
  cli_json_bool(object, "measured", plan->seconds == 0);
  cli_json_real(object, "seconds_mttkrp", plan->options.seconds_mttkrp);
  cli_json_real(object, "seconds_other", plan->options.seconds_other);
  cli_json_count(object, "bytes_format", plan->options.bytes_format);
  cli_json_real(object, "network_bytes_per_second", plan->options.bytes_per_second);
  cli_json_real(object, "network_latency", plan->options.latency);
  add_hosts(&plan->options, object);
  cJSON *array = cJSON_AddArrayToObject(object, "predictions");
  for (int k = 0; k < plan->count; ++k)
    add_prediction(plan, &plan->scale[k], array);
  if (cli_shows_results(&plan->session, NULL)) print_text(plan);
  int status = cli_json_write(&plan->session, object);
  return status == 0 ? cli_finish_output() : status;
}

static int run(struct plan *plan) {
  struct cli_session *session = &plan->session;
  const struct cli_output outputs[] = {{"--json", session->json}};
  int status = cli_session_open_on_cpu(session);
  if (status == 0) status = cli_check_format(session->context, plan->format, false);
  if (status == 0) status = cli_check_outputs(session, outputs, 1, &plan->file, 1);
  if (status == 0) status = cli_read_tensor(session, plan->file, &plan->tensor);
  if (status != 0) return status;
  plan->scale = calloc((size_t)plan->count, sizeof *plan->scale);
  plan->members = calloc((size_t)plan->ranks + 1, sizeof *plan->members);
  if (plan->scale == NULL || plan->members == NULL) return cli_failure("out of memory");
  cli_phase(CLI_ITERATIONS);
  if (predict(plan) != POLYAD_OK) return cli_library_failure(session->context);
  cli_phase(CLI_WRITE);
  return report(plan);
}

int cli_plan(int argc, char **argv) {
  struct plan plan = {.format = "auto", .latency = 5e-6, .host_latency = 1e-6, .ranks_per_host = 1};
  cli_session_init(&plan.session);
  int status = parse(&plan, argc, argv);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  status = run(&plan);
  free(plan.scale);
  free(plan.members);
  polyad_tensor_destroy(plan.tensor);
  cli_session_close(&plan.session);
  return status;
}
