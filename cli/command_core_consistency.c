/* polyad core-consistency: whether a model has more components than its tensor carries. */
#include "command.h"
#include "json.h"
#include "new_data.h"
#include "phases.h"
#include "text.h"
#include <stdio.h>

struct consistency {
  struct cli_session session;
  const char *model_file, *file;
  polyad_ktensor *model;
  polyad_tensor *tensor;
  polyad_tensor *outline; /* names and labels that the model's file has, or NULL */
  double value;
};

static const struct cli_option option_table[] = {
    CLI_READ_OPTIONS(struct consistency), CLI_TRANSFORM_OPTIONS(struct consistency),
    CLI_COMMON_OPTIONS_ON(struct consistency, CLI_DEVICE_CPU)};

const struct cli_usage cli_core_consistency_usage = {
    .command = "core-consistency",
    .synopsis = "MODEL FILE [options]",
    .summary =
        "Prints the core consistency, in percent, of a model (a file of polyad cpd) of the tensor "
        "in\n"
        "FILE: near 100 when nothing but the components is there; small or negative when the\n"
        "model has more components than the tensor carries. polyad rank does this, and more,\n"
        "for a range of ranks. Where both files have labels, they are matched by name.",
    .example = "  polyad core-consistency uber.ptm uber.tns.gz",
    CLI_OPTIONS(option_table),
    .least_arguments = 2,
    .most_arguments = 2};

static int read_inputs(struct consistency *c) {
  struct cli_session *session = &c->session;
  const struct cli_output outputs[] = {{"--json", session->json}};
  const char *const inputs[] = {c->model_file, c->file};
  int status = cli_check_outputs(session, outputs, 1, inputs, 2);
  if (status != 0) return status;
  cli_phase(CLI_READ);
  if (polyad_ktensor_read_labelled(session->context, c->model_file, POLYAD_F64, &c->model,
                                   &c->outline) != POLYAD_OK)
    return cli_library_failure(session->context);
  status = cli_read_tensor(session, c->file, &c->tensor);
  return status == 0 ? cli_match_labels(session, c->outline, &c->tensor) : status;
}

static int write_json(struct consistency *c) {
  cJSON *object = cJSON_CreateObject();
  cli_json_text(object, "model", c->model_file);
  cli_json_text(object, "file", c->file);
  cli_json_count(object, "rank", polyad_ktensor_rank(c->model));
  cli_json_real(object, "core_consistency", c->value);
  cli_json_text(object, "device", "cpu");
  return cli_json_write(&c->session, object);
}

static int run(struct consistency *c) {
  int status = cli_session_open_on_cpu(&c->session);
  if (status == 0) status = read_inputs(c);
  if (status != 0) return status;
  cli_phase(CLI_ITERATIONS);
  cli_computing_begin(&c->session);
  polyad_status done = polyad_core_consistency(c->session.context, c->model, c->tensor, &c->value);
  status = cli_iterations_end(&c->session, done);
  if (status != 0) return status;
  if (cli_shows_results(&c->session, NULL)) printf("%.6f\n", c->value);
  status = write_json(c);
  return status == 0 ? cli_finish_output() : status;
}

int cli_core_consistency(int argc, char **argv) {
  struct consistency c = {.value = 0};
  cli_session_init(&c.session);
  int first, status = cli_parse(&cli_core_consistency_usage, argc, argv, &c, &first);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  c.model_file = argv[first];
  c.file = argv[first + 1];
  status = run(&c);
  polyad_ktensor_destroy(c.model);
  polyad_tensor_destroy(c.tensor);
  polyad_tensor_destroy(c.outline);
  cli_session_close(&c.session);
  return status;
}
