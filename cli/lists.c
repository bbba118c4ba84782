/* polyad formats: the storage formats of this build. polyad help files: the file formats. */
#include "command.h"
#include "json.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

struct list {
  struct cli_session session;
};

static const struct cli_option option_table[] = {CLI_TALK_OPTIONS(struct list)};

static int parse(struct list *list, const char *command, const char *summary, int argc,
                 char **argv) {
  const struct cli_usage usage = {.command = command,
                                  .synopsis = "[options]",
                                  .summary = summary,
                                  CLI_OPTIONS(option_table),
                                  .inquires = true};
  int first;
  cli_session_init(&list->session);
  return cli_parse(&usage, argc, argv, list, &first);
}

/* The context, once it is sure that the object can be written. */
static int open_session(struct cli_session *session) {
  int status = cli_session_open(session);
  const struct cli_output outputs[] = {{"--json", session->json}};
  return status != 0 ? status : cli_check_outputs(session, outputs, 1, NULL, 0);
}

static int finish(struct cli_session *session, cJSON *object) {
  int status = cli_json_write(session, object);
  return status == 0 ? cli_finish_output() : status;
}

/* "kappa=N (1 to 1048576): what it is", in lines that fit a terminal. */
static void show_parameter(const polyad_format_parameter *about) {
  enum { WIDTH = 100, INDENT = 13 };
  char text[512];
  snprintf(text, sizeof text, "%s=N, from %d to %d%s", about->name, about->least, about->most,
           about->usual > 0 ? "" : ": ");
  size_t at = strlen(text);
  if (about->usual > 0)
    at += (size_t)snprintf(text + at, sizeof text - at, ", usually %d: ", about->usual);
  snprintf(text + at, sizeof text - at, "%s", about->help);
  const char *rest = text;
  for (int line = 0; *rest != '\0'; ++line) {
    size_t room = line == 0 ? WIDTH - 11 : WIDTH - INDENT, length = strlen(rest);
    if (length > room)
      for (length = room; length > 0 && rest[length] != ' ';)
        --length;
    printf("%*s %.*s\n", line == 0 ? 10 : INDENT - 1, "", (int)length, rest);
    rest += length + (rest[length] == ' ');
  }
}

/* What is known of each kind of device, such as "cpu (tuned)". */
static void show_devices(const polyad_format_description *about) {
  char kinds[sizeof about->devices], *rest = kinds;
  snprintf(kinds, sizeof kinds, "%s", about->devices);
  printf("%10s devices:", "");
  for (char *kind = strtok_r(kinds, " ", &rest); kind != NULL; kind = strtok_r(NULL, " ", &rest))
    printf(" %s (%s%s)", kind, cli_has_word(about->tuned, kind) ? "tuned" : "plain",
           cli_has_word(about->deterministic, kind) ? "" : ", not deterministic");
  puts("");
}

static void show_format(int which, const polyad_format_description *about) {
  printf("%-10s %s\n", about->name, about->summary);
  printf("%10s kernels: %s   orders: %d to %d\n", "", about->kernels, about->min_order,
         about->max_order);
  show_devices(about);
  printf("%10s variants: %s   compute: %s\n", "", about->variants, about->compute);
  for (int k = 0; k < about->parameters; ++k) {
    polyad_format_parameter parameter;
    if (polyad_format_parameter_describe(which, k, &parameter) == POLYAD_OK)
      show_parameter(&parameter);
  }
  printf("%10s from: %s\n", "", about->paper);
}

static cJSON *parameter_objects(int which, int count) {
  cJSON *list = cJSON_CreateArray();
  for (int k = 0; k < count; ++k) {
    polyad_format_parameter about;
    if (polyad_format_parameter_describe(which, k, &about) != POLYAD_OK) continue;
    cJSON *item = cJSON_CreateObject();
    cli_json_text(item, "name", about.name);
    cli_json_text(item, "help", about.help);
    cli_json_count(item, "least", (uint64_t)about.least);
    cli_json_count(item, "most", (uint64_t)about.most);
    cli_json_real(item, "usual", about.usual > 0 ? (double)about.usual : NAN);
    cJSON_AddItemToArray(list, item);
  }
  return list;
}

static cJSON *format_object(int which, const polyad_format_description *about) {
  cJSON *item = cJSON_CreateObject();
  cli_json_text(item, "name", about->name);
  cli_json_text(item, "summary", about->summary);
  cli_json_text(item, "paper", about->paper);
  cli_json_text(item, "devices", about->devices);
  cli_json_text(item, "tuned", about->tuned);
  cli_json_text(item, "kernels", about->kernels);
  cli_json_text(item, "variants", about->variants);
  cli_json_text(item, "compute", about->compute);
  cJSON_AddItemToObject(item, "parameters", parameter_objects(which, about->parameters));
  cli_json_count(item, "min_order", (uint64_t)about->min_order);
  cli_json_count(item, "max_order", (uint64_t)about->max_order);
  cli_json_text(item, "deterministic", about->deterministic);
  return item;
}

static cJSON *list_formats(const struct cli_session *session) {
  cJSON *object = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(object, "formats");
  for (int k = 0; k < polyad_format_count(); ++k) {
    polyad_format_description about;
    if (polyad_format_describe(k, &about) != POLYAD_OK) continue;
    if (cli_shows_results(session, NULL)) show_format(k, &about);
    cJSON_AddItemToArray(list, format_object(k, &about));
  }
  return object;
}

int cli_formats(int argc, char **argv) {
  struct list list;
  int status = parse(&list, "formats", "Lists the storage formats of this build.", argc, argv);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  status = open_session(&list.session);
  if (status == 0) status = finish(&list.session, list_formats(&list.session));
  cli_session_close(&list.session);
  return status;
}

/* What can be done with files that hold such contents, such as "read, written". */
static void show_contents(const polyad_file_description *about, int contents) {
  static const char *const what[] = {"tensor", "model (CP)", "model (Tucker)"};
  if (!about->reads[contents] && !about->writes[contents]) return;
  printf("%10s %-15s %-18s %s\n", "", what[contents], about->extensions[contents],
         !about->writes[contents]  ? "read"
         : !about->reads[contents] ? "written"
                                   : "read, written");
}

int cli_help_files(void) {
  fputs("The extension of a name chooses the file format; where it tells nothing, the first bytes\n"
        "of a file do. Names without an extension are text, - is standard input or output.\n\n",
        stdout);
  for (int k = 0; k < polyad_file_format_count(); ++k) {
    polyad_file_description about;
    if (polyad_file_format_describe(k, &about) != POLYAD_OK) continue;
    printf("%-10s %s\n", about.name, about.summary);
    for (int c = 0; c < POLYAD_CONTENTS_COUNT; ++c)
      show_contents(&about, c);
    if (about.compressed) printf("%10s also with .gz or .zst behind the extension\n", "");
  }
  fputs("parquet    Parquet, and Arrow (.arrow .feather .ipc), by polyad-table of the Python "
        "package\n"
        "           tensor          .parquet           read\n"
        "           model           .parquet           written (cpd, tucker)\n"
        "html       a page about a model\n"
        "           model           .html              written (cpd, tucker, report)\n",
        stdout);
  return cli_finish_output();
}
