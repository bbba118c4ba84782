/* polyad score: how alike two models are. */
#include "command.h"
#include "json.h"
#include "text.h"
#include <stdio.h>
#include <string.h>

int cli_score(int argc, char **argv) {
  struct cli_session session;
  bool no_weights = false;
  cli_session_init(&session);
  const struct cli_option options[] = {{.kind = CLI_GROUP, .help = "options"},
                                       {"no-weights", 0, CLI_FLAG, &no_weights, NULL,
                                        "compare directions only, not weights", NULL, 0, 0},
                                       {"json", 0, CLI_TEXT, &session.json, "FILE",
                                        "write a JSON object; - writes it, and nothing "
                                        "else, to standard output",
                                        NULL, 0, 0}};
  const struct cli_usage usage = {
      .command = "score",
      .synopsis = "A B [options]",
      .summary =
          "Compares two models (ktensor files) of the same dims: the factor match score is 1\n"
          "when they are equal up to the order, scale and sign of components, 0 when nothing\n"
          "matches.",
      .example = "  polyad score truth.ktensor found.ktensor",
      .options = options,
      .option_count = 3,
      .least_arguments = 2,
      .most_arguments = 2};
  int first, status = cli_parse(&usage, argc, argv, &first);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  polyad_ktensor *a = NULL, *b = NULL;
  double score = 0;
  status = cli_session_open(&session);
  if (status == 0) status = cli_check_output(&session, session.json, argv[first]);
  if (status == 0 &&
      (polyad_ktensor_read(session.context, argv[first], POLYAD_F64, &a) != POLYAD_OK ||
       polyad_ktensor_read(session.context, argv[first + 1], POLYAD_F64, &b) != POLYAD_OK ||
       polyad_ktensor_score(session.context, a, b, !no_weights, &score, NULL) != POLYAD_OK))
    status = cli_library_failure(session.context);
  if (status == 0) {
    cJSON *object = cJSON_CreateObject();
    cli_json_text(object, "a", argv[first]);
    cli_json_text(object, "b", argv[first + 1]);
    cli_json_real(object, "score", score);
    if (session.json == NULL || strcmp(session.json, "-") != 0) printf("%.6f\n", score);
    status = cli_json_write(&session, object);
  }
  if (status == 0) status = cli_finish_output();
  polyad_ktensor_destroy(a);
  polyad_ktensor_destroy(b);
  cli_session_close(&session);
  return status;
}
