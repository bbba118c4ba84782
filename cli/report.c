/* polyad report: a model as one HTML page. */
#include "report.h"
#include "command.h"
#include "new_data.h"
#include "phases.h"
#include "report_borders.h"
#include "text.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct report_command {
  struct cli_session session;
  const char *model_file, *file, *output, *run_file, *outline_file, *title;
  uint64_t top, components;
  bool no_residuals;
  polyad_ktensor *ktensor;
  polyad_ttensor *ttensor;
  polyad_tensor *tensor;
  polyad_tensor *outline; /* names and labels that the model's file has, or NULL */
  cJSON *run, *borders;
};

static const struct cli_option option_table[] = {
    CLI_HEADING("page"),
    CLI_OPTION(struct report_command, RESULT, output, "output", "FILE.html",
               "write the page here (required); - is standard output", .letter = 'o'),
    CLI_OPTION(struct report_command, TEXT, run_file, "run", "FILE.json",
               "what --json of cpd or tucker wrote: adds the course of\nthe run and its options"),
    CLI_OPTION(struct report_command, TEXT, outline_file, "outline", "FILE.geojson",
               "coasts, borders or districts for maps"),
    CLI_OPTION(struct report_command, TEXT, title, "title", "TEXT",
               "heading (default: the name of the file)"),
    CLI_OPTION(struct report_command, COUNT, top, "top", "K", "entries shown per mode (default 10)",
               .least = 1, .most = 100),
    CLI_OPTION(struct report_command, COUNT, components, "components", "K",
               "components (tucker: columns of each mode) shown\n(default 30)", .least = 1,
               .most = 10000),
    CLI_OPTION(struct report_command, FLAG, no_residuals, "no-residuals", NULL,
               "take names from FILE only, and compute nothing"),
    CLI_READ_OPTIONS(struct report_command),
    CLI_TRANSFORM_OPTIONS(struct report_command),
    CLI_COMMON_OPTIONS(struct report_command)};

const struct cli_usage cli_report_usage = {
    .command = "report",
    .synopsis = "MODEL [FILE] -o PAGE.html [options]",
    .summary =
        "Writes one HTML page about MODEL (a file of cpd or tucker) that needs nothing else:\n"
        "components with their strongest entries, times as lines, places as maps. From FILE, the\n"
        "tensor it is a model of, come names, the fit, and what is explained of every slice.\n"
        "Where both files have labels, they are matched by name.",
    .example = "  polyad report uber.ptm uber.tns.gz --run uber.json -o uber.html",
    CLI_OPTIONS(option_table),
    .least_arguments = 1,
    .most_arguments = 2};

static polyad_status read_kruskal(struct report_command *command) {
  return polyad_ktensor_read_labelled(command->session.context, command->model_file,
                                      cli_precision(&command->session), &command->ktensor,
                                      &command->outline);
}

/* The file says itself which kind of model it holds: what is none kind is read as the other one. Of
 * a file that is neither, the error is that of the first kind. */
static int read_model(struct report_command *command) {
  polyad_context *context = command->session.context;
  if (read_kruskal(command) == POLYAD_OK) return 0;
  polyad_status first = polyad_last_error_record(context).status;
  if (strcmp(command->model_file, "-") != 0 &&
      (first == POLYAD_PARSE || first == POLYAD_UNSUPPORTED) &&
      polyad_ttensor_read_labelled(context, command->model_file, cli_precision(&command->session),
                                   &command->ttensor, &command->outline) == POLYAD_OK)
    return 0;
  return read_kruskal(command) == POLYAD_OK ? 0 : cli_library_failure(context);
}

/* All of a file, ended by NUL; NULL with errno set. */
static char *read_text(const char *path) {
  FILE *file = fopen(path, "rb");
  char *text = NULL;
  size_t length = 0, room = 0;
  if (file == NULL) return NULL;
  do {
    if (length + 1 >= room) {
      room = 2 * room + 65536;
      char *grown = realloc(text, room);
      if (grown == NULL) break;
      text = grown;
    }
    length += fread(text + length, 1, room - length - 1, file);
  } while (!feof(file) && !ferror(file));
  bool failed = text == NULL || ferror(file) || !feof(file);
  int why = errno;
  (void)fclose(file);
  if (failed) {
    free(text);
    errno = why;
    return NULL;
  }
  text[length] = '\0';
  return text;
}

/* The object in a JSON file that an option names, if it does. */
static int read_object(const char *option, const char *path, const char *expected, cJSON **object) {
  char quoted[CLI_QUOTE_BYTES];
  if (path == NULL) return 0;
  cli_quote(quoted, path);
  char *text = read_text(path);
  if (text == NULL) return cli_failure("%s %s: %s", option, quoted, strerror(errno));
  *object = cJSON_Parse(text);
  free(text);
  if (!cJSON_IsObject(*object))
    return cli_failure("%s %s found; expected %s", option, quoted, expected);
  return 0;
}

static int read_objects(struct report_command *command) {
  int status = read_object("--run", command->run_file,
                           "the JSON object that --json of cpd or tucker writes", &command->run);
  if (status == 0)
    status = read_object("--outline", command->outline_file, "GeoJSON", &command->borders);
  if (status == 0 && command->borders != NULL && !cli_borders_known(command->borders)) {
    char quoted[CLI_QUOTE_BYTES];
    cli_quote(quoted, command->outline_file);
    return cli_failure("--outline %s has no \"type\" of GeoJSON; expected one such as "
                       "FeatureCollection",
                       quoted);
  }
  return status;
}

static bool has_labels(const polyad_tensor *tensor) {
  for (int n = 0; n < polyad_tensor_order(tensor); ++n)
    if (polyad_tensor_label(tensor, n, 0, NULL) != NULL) return true;
  return false;
}

/* A tensor that the model cannot be of is refused before anything is computed. */
static int check_dims(const struct report_command *command, const struct cli_model *model) {
  int order = cli_model_order(model);
  if (polyad_tensor_order(command->tensor) != order)
    return cli_failure("the model has %d modes and the tensor has %d; expected as many", order,
                       polyad_tensor_order(command->tensor));
  for (int n = 0; n < order; ++n)
    if (polyad_tensor_dims(command->tensor)[n] != cli_model_dims(model)[n])
      return cli_failure("mode %d has length %llu in the model and %llu in the tensor; expected "
                         "equal ones (--dims gives the tensor's)",
                         n + 1, (unsigned long long)cli_model_dims(model)[n],
                         (unsigned long long)polyad_tensor_dims(command->tensor)[n]);
  return 0;
}

/* A model of changed values is compared with values that are changed alike. */
static int check_transforms(const struct report_command *command) {
  const cJSON *done = cJSON_GetObjectItemCaseSensitive(command->run, "transforms");
  if (command->no_residuals || cJSON_GetArraySize(done) == command->session.transforms.count)
    return 0;
  return cli_usage_error("the run changed values in %d steps (--log1p, --tf-idf, --scale) and this "
                         "command in %d; expected the same options, or --no-residuals",
                         cJSON_GetArraySize(done), command->session.transforms.count);
}

static int write_json(struct report_command *command, const struct cli_report *report,
                      double explained) {
  int order = cli_model_order(&report->model);
  if (command->session.json == NULL) return 0;
  cJSON *object = cJSON_CreateObject();
  cli_json_text(object, "model", command->model_file);
  cli_json_text(object, "file", command->file);
  cli_json_text(object, "page", command->output);
  cli_json_text(object, "kind", command->ktensor != NULL ? "cp" : "tucker");
  cli_json_count(object, "order", (uint64_t)order);
  cli_json_counts(object, "dims", cli_model_dims(&report->model), order);
  uint64_t ranks[POLYAD_MAX_ORDER];
  for (int n = 0; n < order; ++n)
    ranks[n] = cli_model_columns(&report->model, n);
  cli_json_counts(object, "ranks", ranks, order);
  cli_json_real(object, "explained", explained);
  return cli_json_write(&command->session, object);
}

static int run(struct report_command *command, int argc, char **argv) {
  const struct cli_output outputs[] = {{"--output", command->output},
                                       {"--json", command->session.json}};
  const char *const inputs[] = {command->model_file, command->file, command->run_file,
                                command->outline_file};
  int status = cli_check_outputs(&command->session, outputs, 2, inputs, 4);
  cli_phase(CLI_READ);
  if (status == 0) status = read_objects(command);
  if (status == 0) status = read_model(command);
  struct cli_report report = {.session = &command->session,
                              .model = {command->ktensor, command->ttensor},
                              .outline = command->outline,
                              .run = command->run,
                              .borders = command->borders,
                              .is_run_of_another = true,
                              .title = command->title,
                              .file = command->file,
                              .model_file = command->model_file,
                              .arguments = argv,
                              .argument_count = argc,
                              .top = command->top,
                              .components = command->components};
  if (status == 0 && command->file != NULL) {
    status = cli_read_tensor(&command->session, command->file, &command->tensor);
    if (status == 0)
      status = cli_match_labels(&command->session, command->outline, &command->tensor);
    if (status == 0) status = check_dims(command, &report.model);
    if (status == 0 && command->run != NULL) status = check_transforms(command);
    if (status == 0 && (command->outline == NULL || has_labels(command->tensor)))
      report.outline = command->tensor;
    report.tensor = command->no_residuals ? NULL : command->tensor;
  }
  double explained = NAN;
  cli_phase(CLI_WRITE);
  if (status == 0) status = cli_report_write(&report, command->output, &explained);
  if (status == 0) status = write_json(command, &report, explained);
  return status == 0 ? cli_finish_output() : status;
}

int cli_report(int argc, char **argv) {
  struct report_command command = {.top = CLI_REPORT_TOP, .components = CLI_REPORT_COMPONENTS};
  cli_session_init(&command.session);
  int first, status = cli_parse(&cli_report_usage, argc, argv, &command, &first);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  command.model_file = argv[first];
  command.file = argc > first + 1 ? argv[first + 1] : NULL;
  if (command.output == NULL)
    return cli_usage_error("the page is missing; give it with --output PAGE.html");
  const char *of_file = cli_transform_given(&command.session.transforms, false);
  if (of_file == NULL && command.no_residuals) of_file = "--no-residuals";
  if (of_file == NULL) of_file = cli_reading_given();
  if (command.file == NULL && of_file != NULL)
    return cli_usage_error("%s found without FILE, the tensor that it is for", of_file);
  if (strcmp(command.output, "-") != 0) status = cli_check_report_name("--output", command.output);
  if (status == 0) status = cli_session_open(&command.session);
  if (status == 0) status = run(&command, argc, argv);
  cJSON_Delete(command.run);
  cJSON_Delete(command.borders);
  polyad_ktensor_destroy(command.ktensor);
  polyad_ttensor_destroy(command.ttensor);
  polyad_tensor_destroy(command.tensor);
  polyad_tensor_destroy(command.outline);
  cli_session_close(&command.session);
  return status;
}
