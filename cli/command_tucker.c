/* polyad tucker: Tucker decomposition of a tensor. */
#include "command.h"
#include "manifest.h"
#include "names.h"
#include "report.h"
#include "run_report.h"
#include "strongest.h"
#include "table.h"
#include "text.h"
#include "tucker_options.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* R, R1,R2,... or auto:ENERGY. */
static int parse_ranks(struct tucker *tucker) {
  const char *text = tucker->ranks_text;
  char quoted[CLI_QUOTE_BYTES], number[32];
  if (text == NULL)
    return cli_usage_error(
        "the ranks are missing; give them with --ranks R1,R2,... (see polyad tucker --help)");
  if (strncmp(text, "auto:", 5) == 0) {
    if (cli_read_real(text + 5, &tucker->energy) && tucker->energy > 0 && tucker->energy <= 1)
      return 0;
    return cli_usage_error("--ranks %s found; expected auto:X with X above 0 and at most 1",
                           cli_quote(quoted, text));
  }
  for (const char *at = text;; ++at) {
    size_t length = strcspn(at, ",");
    if (tucker->rank_count == POLYAD_MAX_ORDER || length == 0 || length >= sizeof number) break;
    memcpy(number, at, length);
    number[length] = '\0';
    uint64_t *rank = &tucker->ranks[tucker->rank_count++];
    if (!cli_read_count(number, rank) || *rank == 0) break;
    at += length;
    if (*at == '\0') return 0;
  }
  return cli_usage_error("--ranks %s found; expected R, R1,R2,... (at most %d, each at least 1) or "
                         "auto:X",
                         cli_quote(quoted, text), POLYAD_MAX_ORDER);
}

static int parse(struct tucker *tucker, int argc, char **argv) {
  int first, status = cli_parse(&cli_tucker_usage, argc, argv, tucker, &first);
  if (status == 0) status = cli_output_is_page(&tucker->output, &tucker->report);
  if (status != 0) return status;
  tucker->file = argv[first];
  status = cli_check_result_name(tucker->output, POLYAD_CONTENTS_TTENSOR);
  if (status == 0) status = cli_check_report_name("--report", tucker->report);
  if (status == 0) status = parse_ranks(tucker);
  if (status == 0 && tucker->run.max_iterations == 0 && strcmp(tucker->init, "hosvd") != 0)
    return cli_usage_error("--max-iters 0 found with --init %s; expected it with hosvd, the model "
                           "without iterations",
                           tucker->init);
  if (status == 0 && tucker->energy > 0 &&
      (strcmp(tucker->init, "hosvd") != 0 || strcmp(tucker->svd, "exact") != 0))
    return cli_usage_error("--ranks auto:X found with --init or --svd; expected neither: the ranks "
                           "come with first factors that keep X, and exact singular vectors do");
  return status;
}

/* Everything that can go wrong before the work starts does so here. */
static int prepare(struct tucker *tucker) {
  struct cli_session *session = &tucker->session;
  const struct cli_output outputs[] = {
      {"--output", tucker->output}, {"--json", session->json}, {"--report", tucker->report}};
  const char *const inputs[] = {tucker->file, tucker->init};
  int status = cli_check_format(session->context, tucker->format, false);
  if (status == 0) status = cli_check_outputs(session, outputs, 3, inputs, 2);
  if (status != 0) return status;
  if (!cli_init_is_file(tucker->init)) return 0;
  status = cli_check_init(tucker->init, "ttensor");
  if (status == 0 &&
      polyad_ttensor_read_labelled(session->context, tucker->init, cli_precision(session),
                                   &tucker->initial, &tucker->initial_labels) != POLYAD_OK)
    return cli_library_failure(session->context);
  return status;
}

/* One rank per mode; what cannot fit the tensor is said before anything is built. */
static int spread_ranks(struct tucker *tucker, const polyad_tensor *tensor) {
  int order = polyad_tensor_order(tensor);
  if (tucker->rank_count == 0) return 0;
  if (tucker->rank_count != 1 && tucker->rank_count != order)
    return cli_failure("%d ranks found; expected %d, one for each mode (or one for all)",
                       tucker->rank_count, order);
  for (int n = 0; n < order; ++n) {
    if (tucker->rank_count == 1) tucker->ranks[n] = tucker->ranks[0];
    if (tucker->ranks[n] > polyad_tensor_dims(tensor)[n])
      return cli_failure("rank %llu of mode %d found; expected at most its length, %llu",
                         (unsigned long long)tucker->ranks[n], n + 1,
                         (unsigned long long)polyad_tensor_dims(tensor)[n]);
  }
  return 0;
}

static int build_plan(struct tucker *tucker) {
  struct cli_session *session = &tucker->session;
  polyad_tensor *tensor = NULL;
  cli_session_settle(session);
  polyad_status read;
  int status = cli_try_read_tensor(session, tucker->file, &read, &tensor);
  if (status == 0 && read != POLYAD_OK) status = cli_library_failure(session->context);
  if (status != 0) return status;
  cli_phase(CLI_BUILD);
  status = spread_ranks(tucker, tensor);
  if (status != 0) {
    polyad_tensor_destroy(tensor);
    return status;
  }
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = tucker->format;
  options.variant = tucker->variant;
  cli_set_types(session, &options);
  options.kernel = POLYAD_KERNEL_TTMC;
  polyad_tucker_options defaults;
  polyad_tucker_options_init(&defaults);
  cli_run_options_set(&tucker->run, &defaults.run);
  options.sweeps = polyad_expected_sweeps(&defaults.run, options.kernel);
  polyad_status made = polyad_tensor_outline(session->context, tensor, &tucker->outline);
  if (made == POLYAD_OK)
    made = cli_plan_of(session, tucker->file, &tensor, &options, tucker->report == NULL,
                       &tucker->plan);
  tucker->tensor = tensor;
  if (made == POLYAD_OK && tucker->initial != NULL)
    made = polyad_ttensor_match_labels(session->context, tucker->outline, tucker->initial_labels,
                                       tucker->initial);
  return cli_library_status(session->context, made);
}

static int decompose(struct tucker *tucker) {
  struct cli_session *session = &tucker->session;
  polyad_tucker_options options;
  polyad_tucker_options_init(&options);
  cli_run_options_set(&tucker->run, &options.run);
  options.svd = strcmp(tucker->svd, "randomized") == 0 ? POLYAD_SVD_RANDOMIZED : POLYAD_SVD_EXACT;
  options.init = tucker->initial != NULL              ? POLYAD_INIT_MODEL
                 : strcmp(tucker->init, "hosvd") == 0 ? POLYAD_INIT_HOSVD
                                                      : POLYAD_INIT_RANDOM;
  options.initial = tucker->initial;
  cli_iterations_begin(session);
  options.energy = tucker->energy;
  memcpy(options.ranks, tucker->ranks, sizeof options.ranks);
  polyad_status done =
      polyad_tucker(session->context, tucker->plan, &options, &tucker->model, &tucker->info);
  int status = cli_iterations_end(session, done);
  if (status != 0) return status;
  cli_phase_of_run(&tucker->info);
  memcpy(tucker->ranks, polyad_ttensor_ranks(tucker->model),
         (size_t)polyad_plan_order(tucker->plan) * sizeof *tucker->ranks);
  return 0;
}

static int write_model(struct tucker *tucker) {
  if (tucker->output == NULL) return 0;
  polyad_context *context = tucker->session.context;
  int top = (int)(tucker->top > 0 ? tucker->top : 10);
  char *path = cli_table_begin(tucker->output);
  if (path == NULL) return 1;
  polyad_status status =
      cli_is_directory_name(path)
          ? polyad_ttensor_write_directory(context, tucker->model, tucker->outline, top, path)
          : polyad_ttensor_write_labelled(context, tucker->model, tucker->outline, path);
  return cli_table_end(tucker->output, path,
                       status == POLYAD_OK ? 0 : cli_library_failure(context));
}

static cJSON *make_json(const struct tucker *tucker) {
  const struct cli_run run = {.file = tucker->file, .plan = tucker->plan, .info = &tucker->info};
  int order = polyad_plan_order(tucker->plan);
  cJSON *o = cJSON_CreateObject();
  cli_json_subject(o, &run);
  cli_json_counts(o, "ranks", tucker->ranks, order);
  cli_json_text(o, "algorithm", "hooi");
  cli_json_text(o, "svd", tucker->svd);
  cli_json_run(o, &tucker->session, &run);
  cli_json_real(o, "seconds_mttkrp", NAN);
  cli_json_reals(o, "seconds_ttmc", tucker->info.seconds_mttkrp, order);
  cli_json_reals(o, "seconds_ttmc_total", tucker->info.seconds_mttkrp_total, order);
  cli_json_trace(o, &tucker->session, &run);
  return o;
}

static int write_json(struct tucker *tucker) {
  if (tucker->session.json == NULL) return 0;
  cli_manifest_model(polyad_ttensor_hash(tucker->model));
  return cli_json_write(&tucker->session, make_json(tucker));
}

static int write_report(struct tucker *tucker, int argc, char **argv) {
  if (tucker->report == NULL) return 0;
  struct cli_report report = {.session = &tucker->session,
                              .model.ttensor = tucker->model,
                              .outline = tucker->outline,
                              .tensor = tucker->tensor,
                              .file = tucker->file,
                              .arguments = argv,
                              .argument_count = argc};
  return cli_report_of_run(&report, make_json(tucker), tucker->report);
}

/* The entries of the core with the largest magnitudes, and the columns they join. */
static void print_core(const struct tucker *tucker) {
  struct cli_core_entry entries[CLI_STRONGEST_MOST];
  int count = cli_core_strongest(tucker->model, (int)tucker->top, entries);
  if (count == 0) return;
  fputs("\nstrongest entries of the core (a column of each mode, value)\n", stdout);
  for (int e = 0; e < count; ++e) {
    for (int n = 0; n < polyad_ttensor_order(tucker->model); ++n)
      printf("%s%llu", n == 0 ? "  " : " ", (unsigned long long)entries[e].column[n] + 1);
    printf("   %.6g   (%.0f%% of the model's squared norm)\n", entries[e].value,
           100 * entries[e].share);
  }
}

static int report(struct tucker *tucker) {
  const polyad_run_info *info = &tucker->info;
  if (info->diagnosis[0] != '\0')
    cli_talk(&tucker->session, "polyad: warning: %s\n", info->diagnosis);
  if (!cli_shows_results(&tucker->session, tucker->output)) return 0;
  int order = polyad_plan_order(tucker->plan);
  cli_print_dims(polyad_plan_dims(tucker->plan), order);
  printf(", %llu nonzeros\ncore ", (unsigned long long)polyad_plan_nnz(tucker->plan));
  cli_print_dims(tucker->ranks, order);
  printf(", hooi, %s on %s: fit %.6f after %d iteration%s (%s), %.2f s\n",
         polyad_plan_format(tucker->plan), polyad_plan_device(tucker->plan), info->fit,
         info->iterations, info->iterations == 1 ? "" : "s", polyad_reason_string(info->reason),
         info->seconds);
  print_core(tucker);
  return cli_finish_output();
}

static int run(struct tucker *tucker, int argc, char **argv) {
  int status = cli_session_open(&tucker->session);
  if (status == 0) status = prepare(tucker);
  if (status == 0) status = build_plan(tucker);
  if (status == 0) status = decompose(tucker);
  cli_phase(CLI_WRITE);
  if (status == 0) status = write_model(tucker);
  if (status == 0) status = write_report(tucker, argc, argv);
  if (status == 0) {
    int told = report(tucker); /* as in cpd */
    status = write_json(tucker);
    if (status == 0) status = told;
  }
  if (status == 0)
    cli_tell_stopped(&tucker->session, &tucker->info,
                     tucker->output != NULL ? tucker->output : tucker->report, NULL);
  return status;
}

int cli_tucker(int argc, char **argv) {
  polyad_tucker_options defaults;
  polyad_tucker_options_init(&defaults);
  struct tucker tucker = {.run = cli_run_options_from(&defaults.run),
                          .top = 5,
                          .svd = "exact",
                          .format = "auto",
                          .variant = "auto",
                          .init = "hosvd"};
  cli_session_init(&tucker.session);
  int status = parse(&tucker, argc, argv);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  status = run(&tucker, argc, argv);
  polyad_run_info_clear(&tucker.info);
  polyad_ttensor_destroy(tucker.model);
  polyad_ttensor_destroy(tucker.initial);
  polyad_plan_destroy(tucker.plan);
  polyad_tensor_destroy(tucker.outline);
  polyad_tensor_destroy(tucker.initial_labels);
  polyad_tensor_destroy(tucker.tensor);
  cli_session_close(&tucker.session);
  return status;
}
