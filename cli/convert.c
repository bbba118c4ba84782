/* polyad convert: between file formats. */
#include "command.h"
#include "json.h"
#include "names.h"
#include "phases.h"
#include "text.h"

struct convert {
  struct cli_session session;
  const char *in, *out;
};

static int run(struct convert *convert) {
  struct cli_session *session = &convert->session;
  const char *in = convert->in, *out = convert->out;
  polyad_tensor *tensor = NULL;
  const struct cli_output outputs[] = {{"OUT", out}, {"--json", session->json}};
  int status = cli_check_outputs(session, outputs, 2, &in, 1);
  if (status == 0) status = cli_read_tensor(session, in, &tensor);
  cli_phase(CLI_WRITE);
  if (status == 0) cli_computing_begin(session); /* a signal must not leave half a file */
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
    cli_json_count(object, "zeros_kept", polyad_tensor_zeros_kept(tensor));
    cli_json_transforms(object, &session->transforms);
    status = cli_json_write(session, object);
    if (status == 0) status = cli_finish_output();
  }
  polyad_tensor_destroy(tensor);
  return status;
}

static const struct cli_option option_table[] = {CLI_READ_OPTIONS(struct convert),
                                                 CLI_TRANSFORM_OPTIONS(struct convert),
                                                 CLI_COMMON_OPTIONS(struct convert)};

const struct cli_usage cli_convert_usage = {
    .command = "convert",
    .synopsis = "IN OUT [options]",
    .summary =
        "Converts a tensor file; the extension of OUT chooses the format, such as .tns (FROSTT\n"
        "text), .ptn (polyad's binary: fast) or .csv: polyad help files lists them. Labels are\n"
        "carried along.",
    .example = "  polyad convert uber.tns.gz uber.ptn",
    CLI_OPTIONS(option_table),
    .least_arguments = 2,
    .most_arguments = 2,
    .result_arguments = 1};

int cli_convert(int argc, char **argv) {
  struct convert convert;
  cli_session_init(&convert.session);
  int first, status = cli_parse(&cli_convert_usage, argc, argv, &convert, &first);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  convert.in = argv[first];
  convert.out = argv[first + 1];
  status = cli_check_tensor_name(convert.out);
  if (status != 0) return status;
  status = cli_session_open(&convert.session);
  if (status == 0) status = run(&convert);
  cli_session_close(&convert.session);
  return status;
}
