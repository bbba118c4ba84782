/* polyad cpd: CP decomposition of a tensor. */
#include "command.h"
#include "components.h"
#include "cpd_json.h"
#include "cpd_options.h"
#include "manifest.h"
#include "names.h"
#include "new_data.h"
#include "parsed.h"
#include "processes.h"
#include "report.h"
#include "run_report.h"
#include "table.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An option that needs all nonzeros in memory, or NULL. */
static const char *refuses_streaming(const struct cpd *cpd) {
  if (cli_completes(&cpd->complete)) return "--absent unknown";
  if (cpd->report != NULL) return "--report";
  if (cli_transform_given(&cpd->session.transforms, false) != NULL)
    return cli_transform_given(&cpd->session.transforms, false);
  if (strcmp(cpd->init, "hosvd") == 0) return "--init hosvd";
  if (strcmp(cpd->algorithm, "apr-pdnr") == 0) return "--algorithm apr-pdnr";
  if (strcmp(cpd->algorithm, "apr-pqnr") == 0) return "--algorithm apr-pqnr";
  bool there = strcmp(cpd->session.device, "cpu") != 0 && strcmp(cpd->format, "modecopy") == 0;
  if (strncmp(cpd->format, "auto", 4) != 0 && strncmp(cpd->format, "coo", 3) != 0 && !there)
    return "--format";
  if (cpd->session.compute != NULL && strcmp(cpd->session.compute, "native") != 0)
    return "--compute";
  return cpd->session.tune ? "--tune" : NULL;
}

/* Of several processes the first one writes. What needs the whole tensor in one is refused. */
static int check_team(struct cpd *cpd) {
  const struct cli_session *session = &cpd->session;
  if (polyad_team_launched() < 2) return 0;
  const char *option = cli_completes(&cpd->complete)                  ? "--absent unknown"
                       : cpd->report != NULL                          ? "--report"
                       : strcmp(cpd->init, "hosvd") == 0              ? "--init hosvd"
                       : strcmp(cpd->algorithm, "apr-pdnr") == 0      ? "--algorithm apr-pdnr"
                       : strcmp(cpd->algorithm, "apr-pqnr") == 0      ? "--algorithm apr-pqnr"
                       : strcmp(cpd->streaming.stream, "always") == 0 ? "--stream always"
                       : session->labels != NULL                      ? "--labels"
                                                 : cli_transform_given(&session->transforms, false);
  if (option == NULL) return 0;
  return cli_usage_error(
      "%s found with %d processes; expected als or apr-mu on a tensor whose parts "
      "they share, or one process",
      option, polyad_team_launched());
}

/* Options that nothing would heed. */
static int check_idle_options(const struct cpd *cpd) {
  if (cli_parsed_has("checkpoint-every") && cpd->run.checkpoint == NULL)
    return cli_usage_error("--checkpoint-every found without a file for it; add --checkpoint FILE");
  if (cpd->streaming.spill_dir != NULL && strcmp(cpd->streaming.stream, "never") == 0)
    return cli_usage_error("--spill-dir found with --stream never; expected always or auto");
  return 0;
}

static int check_completion(struct cpd *cpd) {
  const struct cli_complete_options *complete = &cpd->complete;
  const char *algorithm = cpd->algorithm, *given = cli_complete_option_given(complete);
  double share;
  bool iterative = strcmp(algorithm, "ccd") == 0 || strcmp(algorithm, "sgd") == 0;
  if (!cli_completes(complete) && (iterative || given != NULL))
    return cli_usage_error("--%s%s is for cells that are unknown: add --absent unknown",
                           iterative ? "algorithm " : given, iterative ? algorithm : "");
  if (!cli_completes(complete)) return 0;
  if (complete->validation != NULL && cli_read_real(complete->validation, &share) &&
      !cli_validation_share(complete, &share))
    return cli_usage_error("--validation %s found; expected a share between 0 and 1, or a file",
                           complete->validation);
  if (cli_is_apr(algorithm))
    return cli_usage_error("--algorithm %s found; expected als, ccd or sgd with --absent unknown",
                           algorithm);
  if (strcmp(cpd->init, "hosvd") == 0)
    return cli_usage_error("--init hosvd found; expected random or a ktensor file with --absent "
                           "unknown");
  if (cpd->report != NULL)
    return cli_usage_error(
        "a page (--report) compares a model with all cells; with --absent unknown "
        "use --output model.ptm, and polyad report on the model");
  const char *whole = cli_transform_given(&cpd->session.transforms, true);
  if (whole != NULL && complete->validation != NULL && !cli_validation_share(complete, &share))
    return cli_usage_error(
        "%s found with --validation FILE, which would be weighed by itself; expected "
        "a share such as --validation 0.1, or files that polyad convert changed "
        "together before polyad split",
        whole);
  if (!isnan(complete->bias_ridge) && !complete->biases)
    return cli_usage_error("--bias-ridge found without biases; add --biases");
  if (complete->patience > 0 && complete->validation == NULL)
    return cli_usage_error("--patience found without cells that the fit does not see; add "
                           "--validation");
  if (cpd->session.tune || (strcmp(cpd->format, "auto") != 0 && strcmp(cpd->format, "coo") != 0))
    return cli_usage_error("--%s found with --absent unknown, which sorts the cells anew and uses "
                           "no storage format",
                           cpd->session.tune ? "tune" : "format");
  if (strcmp(cpd->format, "auto") == 0) cpd->format = "coo"; /* the cells are sorted anew */
  if (strcmp(algorithm, "sgd") == 0 && strcmp(cpd->session.device, "auto") == 0)
    cpd->session.device = "cpu"; /* where alone it runs */
  return 0;
}

static int parse(struct cpd *cpd, int argc, char **argv) {
  int first, status = cli_parse(&cli_cpd_usage, argc, argv, cpd, &first);
  if (status == 0) status = cli_output_is_page(&cpd->output, &cpd->report);
  if (status != 0) return status;
  cpd->file = argv[first];
  if (cpd->rank == 0)
    return cli_usage_error("the rank is missing; give it with --rank R (see polyad cpd --help); "
                           "polyad rank FILE says how many components a tensor supports");
  if (cpd->run.checkpoint != NULL &&
      (strcmp(cpd->run.checkpoint, "-") == 0 || cli_is_directory_name(cpd->run.checkpoint)))
    return cli_usage_error("--checkpoint expects the name of a file");
  if (cli_is_apr(cpd->algorithm) && strcmp(cpd->init, "hosvd") == 0)
    return cli_usage_error("--init hosvd found; %s starts from random or a ktensor file",
                           cpd->algorithm);
  if (strcmp(cpd->streaming.stream, "always") == 0 && refuses_streaming(cpd) != NULL)
    return cli_usage_error("--stream always found with %s, which needs the tensor in memory",
                           refuses_streaming(cpd));
  if (cpd->half_rows && (strcmp(cpd->algorithm, "als") != 0 || cli_completes(&cpd->complete)))
    return cli_usage_error("--half-rows is for --algorithm als");
  if (cpd->half_rows && cpd->nonnegative != NULL)
    return cli_usage_error("--half-rows and --nonnegative exclude each other");
  bool ridge = !isnan(cpd->ridge) && cpd->ridge > 0;
  if (cli_is_apr(cpd->algorithm) && (cpd->nonnegative != NULL || ridge))
    return cli_usage_error("--%s is for --algorithm als", ridge ? "ridge" : "nonnegative");
  status = check_completion(cpd);
  if (status == 0) status = cli_cpd_check_algorithm_options(cpd);
  if (status == 0) status = check_team(cpd);
  if (status == 0) status = check_idle_options(cpd);
  if (status != 0) return status;
  if (cpd->session.zeros == NULL)
    cpd->session.zeros = cli_completes(&cpd->complete) ? "keep" : "drop";
  status = cli_check_result_name(cpd->output, POLYAD_CONTENTS_KTENSOR);
  return status != 0 ? status : cli_check_report_name("--report", cpd->report);
}

/* Everything that can go wrong before the work starts does so here. */
static int prepare(struct cpd *cpd) {
  struct cli_session *session = &cpd->session;
  char previous[4096 + 8];
  if (cpd->run.checkpoint != NULL)
    snprintf(previous, sizeof previous, "%.4096s.prev", cpd->run.checkpoint);
  /* A run that was killed while it saved may have left FILE and FILE.prev two names of one file. */
  const struct cli_output outputs[] = {{"--output", cpd->output},
                                       {"--json", session->json},
                                       {"--report", cpd->report},
                                       {"--checkpoint", cpd->run.checkpoint}};
  const struct cli_output beside[] = {
      {"--output", cpd->output},
      {"--json", session->json},
      {"--report", cpd->report},
      {"FILE.prev of --checkpoint", cpd->run.checkpoint != NULL ? previous : NULL}};
  double share;
  bool shared = cli_validation_share(&cpd->complete, &share);
  const char *const inputs[] = {
      cpd->file, cpd->init, cpd->complete.weights != NULL ? cpd->complete.weights : cpd->file,
      cpd->complete.validation != NULL && !shared ? cpd->complete.validation : cpd->file};
  /* Only a checkpoint may replace the one that is resumed. */
  int status = cli_check_format(session->context, cpd->format, false);
  if (status == 0) status = cli_check_inputs(outputs, 3, &cpd->run.resume, 1);
  if (status == 0) status = cli_check_outputs(session, outputs, 4, inputs, 4);
  if (status == 0) status = cli_check_outputs(session, beside, 4, inputs, 4);
  if (status != 0) return status;
  cli_manifest_replaced(session, cpd->run.resume);
  if (!cli_init_is_file(cpd->init)) return 0;
  status = cli_check_init(cpd->init, "ktensor");
  if (status == 0 &&
      polyad_ktensor_read_labelled(session->context, cpd->init, cli_precision(session),
                                   &cpd->initial, &cpd->initial_labels) != POLYAD_OK)
    return cli_library_failure(session->context);
  return status;
}

static int build_in_memory(struct cpd *cpd, const polyad_plan_options *options,
                           polyad_status *made) {
  struct cli_session *session = &cpd->session;
  polyad_tensor *tensor = NULL;
  cli_session_settle(session);
  int status = cli_try_read_tensor(session, cpd->file, made, &tensor);
  bool streams = cpd->streaming.able && *made == POLYAD_MEMORY_LIMIT;
  if (status == 0 && *made != POLYAD_OK && !streams) status = cli_library_failure(session->context);
  status = cli_team_agree(session, status);
  if (status != 0 || streams) {
    polyad_tensor_destroy(tensor);
    return status;
  }
  cli_phase(CLI_BUILD);
  *made = polyad_tensor_outline(session->context, tensor, &cpd->outline);
  if (*made == POLYAD_OK)
    *made = cli_plan_of(session, cpd->file, &tensor, options, cpd->report == NULL, &cpd->plan);
  cpd->tensor = tensor;
  return 0;
}

/* Gives back what was read, for the stream to have its room. */
static void forget_tensor(struct cpd *cpd) {
  polyad_tensor_destroy(cpd->tensor);
  polyad_tensor_destroy(cpd->outline);
  cpd->tensor = cpd->outline = NULL;
}

/* Reading is a part of building where the tensor streams. */
static polyad_status build_streaming(struct cpd *cpd, const polyad_plan_options *options,
                                     const polyad_read_options *read) {
  polyad_stream_info about;
  cli_phase(CLI_BUILD);
  polyad_status made =
      cli_stream_plan(&cpd->session, &cpd->streaming, cpd->file, options, read, &cpd->plan);
  if (made != POLYAD_OK) return made;
  polyad_plan_stream_info(cpd->plan, &about);
  cli_manifest_tensor(cpd->file, about.tensor_hash);
  return polyad_plan_stream_outline(cpd->session.context, cpd->plan, read->labels, &cpd->outline);
}

static double expected_sweeps(const struct cpd *cpd, polyad_kernel kernel) {
  polyad_cp_als_options als;
  polyad_cp_als_options_init(&als);
  polyad_run_options run = cli_is_apr(cpd->algorithm) ? cpd->apr.options.run : als.run;
  cli_run_options_set(&cpd->run, &run);
  return polyad_expected_sweeps(&run, kernel);
}

static int build_plan(struct cpd *cpd) {
  struct cli_session *session = &cpd->session;
  polyad_plan_options options;
  polyad_read_options read;
  int status = cli_read_options(session, &read);
  if (status != 0) return status;
  polyad_plan_options_init(&options);
  cli_phase(CLI_READ);
  options.team = session->team;
  options.format = cpd->format;
  options.variant = cpd->variant;
  cli_set_types(session, &options);
  options.kernel = cli_kernel_of(cpd->algorithm);
  options.rank = cpd->rank;
  if (cpd->run.restarts > 1 && cpd->rank < 1000000) options.columns = cpd->rank * cpd->run.restarts;
  if (cli_completes(&cpd->complete)) options.zeros = POLYAD_ZEROS_KEEP;
  options.sweeps = expected_sweeps(cpd, options.kernel);
  cli_set_tuning(session, &options);
  polyad_status made = POLYAD_OK;
  bool able = refuses_streaming(cpd) == NULL && session->team == NULL;
  bool streams = cli_streams(session, &cpd->streaming, cpd->file, &options, &read, able);
  if (streams) {
    made = build_streaming(cpd, &options, &read);
  } else {
    status = build_in_memory(cpd, &options, &made);
    if (status != 0) return status;
    streams = cli_streams_instead(session, &cpd->streaming, made);
    if (streams) {
      forget_tensor(cpd);
      made = build_streaming(cpd, &options, &read);
    }
  }
  /* The file is read while a plan that streams is made: what is wrong is in it, as when it is read
   * into memory. */
  if (streams && cpd->streaming.options_hold && made != POLYAD_OK)
    return cli_library_failure(session->context);
  return cli_library_status(session->context, made);
}

static polyad_status decompose_als(struct cpd *cpd) {
  polyad_cp_als_options options;
  polyad_cp_als_options_init(&options);
  options.rank = cpd->rank;
  cli_run_options_set(&cpd->run, &options.run);
  options.ridge = isnan(cpd->ridge) ? 0 : cpd->ridge;
  options.nonnegative_modes = cpd->nonnegative_modes;
  options.half_rows = cpd->half_rows;
  options.init = cpd->initial != NULL              ? POLYAD_INIT_MODEL
                 : strcmp(cpd->init, "hosvd") == 0 ? POLYAD_INIT_HOSVD
                                                   : POLYAD_INIT_RANDOM;
  options.initial = cpd->initial;
  return polyad_cp_als(cpd->session.context, cpd->plan, &options, &cpd->model, &cpd->info);
}

static polyad_status decompose_apr(struct cpd *cpd) {
  polyad_cp_apr_options *options = &cpd->apr.options;
  cli_apr_options_finish(&cpd->apr, cpd->algorithm);
  options->rank = cpd->rank;
  cli_run_options_set(&cpd->run, &options->run);
  options->init = cpd->initial != NULL ? POLYAD_INIT_MODEL : POLYAD_INIT_RANDOM;
  options->initial = cpd->initial;
  return polyad_cp_apr(cpd->session.context, cpd->plan, options, &cpd->model, &cpd->info);
}

static polyad_status decompose_known(struct cpd *cpd) {
  polyad_cp_complete_options options;
  polyad_cp_complete_options_init(&options);
  options.rank = cpd->rank;
  cli_run_options_set(&cpd->run, &options.run);
  cli_complete_options_set(&cpd->complete, cpd->algorithm, &options);
  if (!isnan(cpd->ridge)) options.ridge = cpd->ridge;
  options.nonnegative_modes = cpd->nonnegative_modes;
  options.weights = cpd->weights;
  options.validation = cpd->validation;
  options.init = cpd->initial != NULL ? POLYAD_INIT_MODEL : POLYAD_INIT_RANDOM;
  options.initial = cpd->initial;
  return polyad_cp_complete(cpd->session.context, cpd->plan, &options, &cpd->model, &cpd->info);
}

/* Weights are no values: nothing changes them. */
static int read_weights(struct cpd *cpd) {
  struct cli_transforms of_values = cpd->session.transforms;
  cpd->session.transforms = (struct cli_transforms){0};
  int status = cli_read_tensor(&cpd->session, cpd->complete.weights, &cpd->weights);
  cpd->session.transforms = of_values;
  return status == 0 ? cli_match_labels(&cpd->session, cpd->outline, &cpd->weights) : status;
}

/* Cells whose labels the fitted file lacks say nothing of its model. */
static int match_validation(struct cpd *cpd) {
  polyad_context *context = cpd->session.context;
  polyad_tensor *matched = NULL;
  uint64_t skipped;
  if (polyad_tensor_match_labels(context, cpd->outline, cpd->validation, POLYAD_UNSEEN_SKIP,
                                 &skipped, &matched) != POLYAD_OK)
    return cli_library_failure(context);
  if (matched == NULL) return 0;
  if (skipped > 0)
    cli_talk(&cpd->session, "polyad: %llu cells of %s left out: their labels are not in %s\n",
             (unsigned long long)skipped, cpd->complete.validation, cpd->file);
  polyad_tensor_destroy(cpd->validation);
  cpd->validation = matched;
  return 0;
}

static int read_validation(struct cpd *cpd) {
  int status = cli_read_tensor(&cpd->session, cpd->complete.validation, &cpd->validation);
  return status == 0 ? match_validation(cpd) : status;
}

/* The tensors of completion besides the one that is decomposed. */
static int read_others(struct cpd *cpd) {
  double share;
  int status = 0;
  if (cpd->complete.weights != NULL) status = read_weights(cpd);
  if (status == 0 && cpd->complete.validation != NULL &&
      !cli_validation_share(&cpd->complete, &share))
    status = read_validation(cpd);
  return status;
}

static bool is_ptn(const char *file) {
  size_t length = strlen(file);
  return length > 4 && strcmp(file + length - 4, ".ptn") == 0;
}

/* First components have the rows of the labels that the tensor has. Of several processes each reads
 * these. */
static int match_initial(struct cpd *cpd) {
  polyad_context *context = cpd->session.context;
  polyad_tensor *labels = NULL;
  if (cpd->initial_labels == NULL) return 0;
  bool reads = cpd->session.team != NULL && is_ptn(cpd->file);
  if (cpd->session.team != NULL && !reads)
    cli_talk(&cpd->session,
             "polyad: rows of %s are taken by number: several processes know the labels of .ptn "
             "files alone\n",
             cpd->init);
  polyad_status status =
      reads ? polyad_tensor_read_outline(context, cpd->file, &labels) : POLYAD_OK;
  if (status == POLYAD_OK && (reads || cpd->session.team == NULL))
    status = polyad_ktensor_match_labels(context, reads ? labels : cpd->outline,
                                         cpd->initial_labels, cpd->initial);
  polyad_tensor_destroy(labels);
  return cli_team_agree(&cpd->session, cli_library_status(context, status));
}

/* What --nonnegative names. Modes have names where the outline is of the whole tensor; of several
 * processes all fail alike, if one does. */
static int find_nonnegative(struct cpd *cpd) {
  const polyad_tensor *names = cpd->session.team == NULL ? cpd->outline : NULL;
  if (cpd->nonnegative == NULL) return 0;
  int status = cli_nonnegative_modes(names, polyad_plan_order(cpd->plan), cpd->nonnegative,
                                     &cpd->nonnegative_modes);
  return cli_team_agree(&cpd->session, status);
}

static int decompose(struct cpd *cpd) {
  struct cli_session *session = &cpd->session;
  cli_iterations_begin(session);
  polyad_status done = cli_completes(&cpd->complete) ? decompose_known(cpd)
                       : cli_is_apr(cpd->algorithm)  ? decompose_apr(cpd)
                                                     : decompose_als(cpd);
  int status = cli_iterations_end(session, done);
  if (status == 0) cli_phase_of_run(&cpd->info);
  return status;
}

static int write_model(struct cpd *cpd) {
  if (cpd->output == NULL) return 0;
  polyad_context *context = cpd->session.context;
  char *path = cli_table_begin(cpd->output);
  if (path == NULL) return 1;
  polyad_status status = cli_write_ktensor(context, cpd->model, cpd->outline, cpd->top, path);
  return cli_table_end(cpd->output, path, status == POLYAD_OK ? 0 : cli_library_failure(context));
}

static cJSON *make_json(const struct cpd *cpd) {
  const struct cli_cpd_result result = {
      .algorithm = cpd->algorithm,
      .rank = cpd->rank,
      .absent = cpd->complete.absent,
      .nonnegative_modes = cpd->nonnegative_modes,
      .run = {.file = cpd->file, .plan = cpd->plan, .info = &cpd->info, .members = cpd->members}};
  return cli_cpd_json(&cpd->session, &result);
}

static int write_json(struct cpd *cpd) {
  if (cpd->session.json == NULL) return 0;
  cli_manifest_model(polyad_ktensor_hash(cpd->model));
  return cli_json_write(&cpd->session, make_json(cpd));
}

static int write_report(struct cpd *cpd, int argc, char **argv) {
  if (cpd->report == NULL) return 0;
  struct cli_report report = {.session = &cpd->session,
                              .model.ktensor = cpd->model,
                              .outline = cpd->outline,
                              .tensor = cpd->tensor,
                              .file = cpd->file,
                              .arguments = argv,
                              .argument_count = argc};
  return cli_report_of_run(&report, make_json(cpd), cpd->report);
}

static void print_summary(const struct cpd *cpd) {
  const polyad_run_info *info = &cpd->info;
  printf("rank %llu, %s, %s on %s", (unsigned long long)cpd->rank, cpd->algorithm,
         polyad_plan_format(cpd->plan), polyad_plan_device(cpd->plan));
  if (cpd->session.team != NULL) printf(" by %d processes", polyad_team_size(cpd->session.team));
  printf(": ");
  if (cli_is_apr(cpd->algorithm))
    printf("log-likelihood %.10g, KKT violation %.3g", info->log_likelihood, info->kkt_violation);
  else
    printf("fit %.6f", info->fit);
  if (cli_completes(&cpd->complete)) printf(" of the cells in the file, RMSE %.6g", info->rmse);
  if (!isnan(info->validation_rmse))
    printf(", %.6g of the validation cells (iteration %d)", info->validation_rmse,
           info->best_iteration);
  printf(" after %d iteration%s (%s), %.2f s\n", info->iterations, info->iterations == 1 ? "" : "s",
         polyad_reason_string(info->reason), info->seconds);
}

static int report(struct cpd *cpd) {
  const polyad_run_info *info = &cpd->info;
  bool apr = cli_is_apr(cpd->algorithm);
  cli_tell_starts(&cpd->session, info, apr ? "log-likelihood" : "fit",
                  apr ? 1e-4 : fmax(cpd->run.tolerance, 1e-6));
  if (info->diagnosis[0] != '\0') cli_talk(&cpd->session, "polyad: warning: %s\n", info->diagnosis);
  if (!cli_shows_results(&cpd->session, cpd->output)) return 0;
  cli_print_dims(polyad_plan_dims(cpd->plan), polyad_plan_order(cpd->plan));
  printf(", %llu nonzeros\n", (unsigned long long)polyad_plan_nnz(cpd->plan));
  print_summary(cpd);
  if (cpd->top > 0) cli_print_components(cpd->model, cpd->outline, (int)cpd->top);
  return cli_finish_output();
}

/* What the first of several processes does with the model. */
static int write_all(struct cpd *cpd, int argc, char **argv) {
  int status = 0;
  if (status == 0) status = write_model(cpd);
  if (status == 0) status = write_report(cpd, argc, argv);
  if (status == 0) {
    int told = report(cpd); /* the object tells how long that took, and is written all the same */
    status = write_json(cpd);
    if (status == 0) status = told;
  }
  if (status == 0)
    cli_tell_stopped(&cpd->session, &cpd->info, cpd->output != NULL ? cpd->output : cpd->report,
                     cpd->run.checkpoint);
  return status;
}

/* Of the processes of a launcher all but the first have nothing to write. */
static int open_session(struct cpd *cpd) {
  cpd->session.joins = true;
  int status = cli_session_open(&cpd->session);
  if (!cli_team_first(&cpd->session)) {
    cpd->output = NULL;
    cpd->top = 0;
  }
  return status;
}

/* A tensor that several processes read is nowhere whole: labels are there where one read all. */
static int settle_outline(struct cpd *cpd) {
  const struct cli_session *session = &cpd->session;
  if (session->team == NULL || !cli_team_first(session)) return 0;
  size_t bytes = (size_t)polyad_plan_order(cpd->plan) * sizeof(uint64_t);
  bool whole = polyad_tensor_order(cpd->outline) == polyad_plan_order(cpd->plan) &&
               memcmp(polyad_tensor_dims(cpd->outline), polyad_plan_dims(cpd->plan), bytes) == 0;
  polyad_tensor *outline = NULL;
  if (is_ptn(cpd->file) &&
      polyad_tensor_read_outline(session->context, cpd->file, &outline) != POLYAD_OK)
    return cli_library_failure(session->context);
  if (outline == NULL && whole) return 0;
  polyad_tensor_destroy(cpd->outline);
  cpd->outline = outline;
  return 0;
}

static int run(struct cpd *cpd, int argc, char **argv) {
  struct cli_session *session = &cpd->session;
  int status = open_session(cpd);
  if (status == 0) status = prepare(cpd);
  if (status == 0) status = build_plan(cpd);
  if (status == 0) status = read_others(cpd);
  if (status == 0) status = settle_outline(cpd);
  if (status == 0) status = match_initial(cpd);
  if (status == 0) status = find_nonnegative(cpd);
  if (status == 0) status = decompose(cpd);
  if (status == 0) status = cli_team_gather(session, cpd->plan, &cpd->members);
  cli_phase(CLI_WRITE);
  if (status == 0 && cli_team_first(session)) status = write_all(cpd, argc, argv);
  return cli_team_agree(session, status);
}

int cli_cpd(int argc, char **argv) {
  struct cpd cpd = {.top = 5,
                    .algorithm = "als",
                    .format = "auto",
                    .variant = "auto",
                    .init = "random",
                    .streaming.stream = "auto"};
  cpd.ridge = NAN;
  cpd.complete = cli_complete_options_default();
  cli_session_init(&cpd.session);
  cpd.session.zeros = NULL; /* what is not given follows from --absent */
  cli_apr_options_init(&cpd.apr);
  cpd.run = cli_run_options_from(&cpd.apr.options.run);
  int status = parse(&cpd, argc, argv);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  status = run(&cpd, argc, argv);
  polyad_run_info_clear(&cpd.info);
  polyad_ktensor_destroy(cpd.model);
  polyad_ktensor_destroy(cpd.initial);
  polyad_plan_destroy(cpd.plan);
  free(cpd.members);
  cli_team_leave(&cpd.session);
  polyad_tensor_destroy(cpd.outline);
  polyad_tensor_destroy(cpd.initial_labels);
  polyad_tensor_destroy(cpd.weights);
  polyad_tensor_destroy(cpd.validation);
  polyad_tensor_destroy(cpd.tensor);
  cli_session_close(&cpd.session);
  return status;
}
