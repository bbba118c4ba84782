/* polyad convert: between file formats. */
#include "command.h"
#include "json.h"
#include "text.h"
#include <stdio.h>
#include <string.h>

static const char *const extensions[] = {".tns", ".txt", ".ptn", ".csv", ".tsv"};

/* Whether the library has a format for the name: so that a typing error is found before the
 * input is read. */
static bool is_known(const char *path) {
  char name[64] = "";
  const char *dot = strrchr(path, '.');
  if (dot != NULL && (strcmp(dot, ".gz") == 0 || strcmp(dot, ".zst") == 0)) {
    const char *p = dot;
    while (p > path && p[-1] != '.')
      --p;
    if (p > path && (size_t)(dot - p) + 1 < sizeof name)
      snprintf(name, sizeof name, ".%.*s", (int)(dot - p), p);
  } else if (dot != NULL) {
    snprintf(name, sizeof name, "%.60s", dot);
  }
  for (size_t k = 0; k < sizeof extensions / sizeof *extensions; ++k)
    if (strcmp(name, extensions[k]) == 0) return true;
  return strcmp(path, "-") == 0;
}

static int convert(struct cli_session *session, const char *in, const char *out) {
  polyad_tensor *tensor = NULL;
  int status = cli_check_output(session, out, in);
  if (status == 0) status = cli_check_output(session, session->json, in);
  if (status == 0) status = cli_read_tensor(session, in, &tensor);
  if (status == 0 &&
      polyad_tensor_write(session->context, tensor, out, POLYAD_FILE_AUTO) != POLYAD_OK)
    status = cli_library_failure(session->context);
  if (status == 0) {
    cJSON *object = cJSON_CreateObject();
    int order = polyad_tensor_order(tensor);
    cli_json_text(object, "file", in);
    cli_json_text(object, "output", out);
    cli_json_count(object, "order", (uint64_t)order);
    cli_json_counts(object, "dims", polyad_tensor_dims(tensor), order);
    cli_json_count(object, "nnz", polyad_tensor_nnz(tensor));
    cli_json_count(object, "repeats_merged", polyad_tensor_repeats_merged(tensor));
    cli_json_count(object, "zeros_dropped", polyad_tensor_zeros_dropped(tensor));
    status = cli_json_write(session, object);
  }
  polyad_tensor_destroy(tensor);
  return status;
}

int cli_convert(int argc, char **argv) {
  struct cli_session session;
  char quoted[CLI_QUOTE_BYTES];
  cli_session_init(&session);
  const struct cli_option options[] = {CLI_READ_OPTIONS(session), CLI_COMMON_OPTIONS(session)};
  const struct cli_usage usage = {
      .command = "convert",
      .synopsis = "IN OUT [options]",
      .summary =
          "Converts a tensor file; the extension of OUT chooses the format: .tns (FROSTT text),\n"
          ".txt (Tensor Toolbox text), .ptn (polyad's binary: fast), .csv or .tsv (with\n"
          "labels); .gz and .zst compress all but .ptn. Labels are carried along.",
      .example = "  polyad convert uber.tns.gz uber.ptn",
      .options = options,
      .option_count = (int)(sizeof options / sizeof *options),
      .least_arguments = 2,
      .most_arguments = 2};
  int first, status = cli_parse(&usage, argc, argv, &first);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  const char *in = argv[first], *out = argv[first + 1];
  if (!is_known(out))
    return cli_usage_error("output %s has no known extension; expected .tns, .txt, .ptn, .csv or "
                           ".tsv, also with .gz or .zst",
                           cli_quote(quoted, out));
  if (session.json != NULL && strcmp(session.json, "-") == 0 && strcmp(out, "-") == 0)
    return cli_usage_error("--json - and output - both write to standard output; choose one");
  status = cli_session_open(&session);
  if (status == 0) status = convert(&session, in, out);
  cli_session_close(&session);
  return status == 0 ? cli_finish_output() : status;
}
