#include "names.h"
#include "options.h"
#include "table.h"
#include "text.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int cli_check_format(polyad_context *context, const char *text, bool all) {
  char quoted[CLI_QUOTE_BYTES];
  if ((all && strcmp(text, "all") == 0) || polyad_format_check(context, text) == POLYAD_OK)
    return 0;
  return cli_usage_error("--format %s: %s%s", cli_quote(quoted, text), polyad_last_error(context),
                         all ? "; or all" : "");
}

int cli_check_like(const char *name) {
  char quoted[CLI_QUOTE_BYTES], names[320];
  size_t at = 0;
  for (int k = 0; polyad_generate_like_name(k) != NULL; ++k) {
    if (strcmp(polyad_generate_like_name(k), name) == 0) return 0;
    if (at < sizeof names)
      at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", k == 0 ? "" : ", ",
                             polyad_generate_like_name(k));
  }
  return cli_usage_error("no published tensor is called %s; expected %s", cli_quote(quoted, name),
                         names);
}

polyad_structure cli_structure(const char *name) {
  return (polyad_structure)cli_choice(CLI_STRUCTURES, name);
}

/* Who writes files of this name, where that is not this option. */
static const char *elsewhere(const char *path) {
  const char *dot = strrchr(path, '.');
  if (dot != NULL && strcmp(dot, ".html") == 0) return ". polyad report writes pages";
  return cli_is_table_name(path) ? ". polyad-table of the Python package makes it of a .ptm or .npz"
                                 : "";
}

int cli_check_model_name(const char *option, const char *path, polyad_file_contents contents) {
  char quoted[CLI_QUOTE_BYTES], expected[256];
  if (path == NULL || polyad_file_format_find(path, contents) >= 0) return 0;
  (void)polyad_file_extensions(contents, expected, sizeof expected);
  return cli_usage_error("%s %s has an extension that no model has; expected %s%s", option,
                         cli_quote(quoted, path), expected, elsewhere(path));
}

int cli_check_result_name(const char *path, polyad_file_contents contents) {
  char quoted[CLI_QUOTE_BYTES], expected[256];
  if (cli_is_table_name(path)) return cli_table_check(path);
  if (path == NULL || polyad_file_format_find(path, contents) >= 0) return 0;
  (void)polyad_file_extensions(contents, expected, sizeof expected);
  return cli_usage_error("--output %s has an extension that no model has; expected %s; or "
                         ".parquet or .html",
                         cli_quote(quoted, path), expected);
}

bool cli_init_is_file(const char *init) {
  return strcmp(init, "random") != 0 && strcmp(init, "hosvd") != 0;
}

int cli_check_init(const char *init, const char *kind) {
  char quoted[CLI_QUOTE_BYTES];
  if (strcmp(init, "-") == 0 || access(init, F_OK) == 0) return 0;
  return cli_failure("--init %s found, and there is no such file; expected random, hosvd or a %s "
                     "file",
                     cli_quote(quoted, init), kind);
}

int cli_input_format(const char *extension, polyad_read_options *options) {
  char quoted[CLI_QUOTE_BYTES], expected[256], name[32];
  polyad_file_description about;
  if (extension == NULL) return 0;
  if (extension[0] == '.') ++extension;
  (void)snprintf(name, sizeof name, "input.%s", extension);
  bool known = extension[0] != '\0' && strlen(extension) < sizeof name - sizeof "input." &&
               polyad_file_format_describe(polyad_file_format_find(name, POLYAD_CONTENTS_TENSOR),
                                           &about) == POLYAD_OK;
  if (known) {
    options->format = about.number;
    if (about.number == POLYAD_FILE_DELIMITED)
      options->delimiter = strcmp(extension, "tsv") == 0 ? '\t' : ',';
    return 0;
  }
  (void)polyad_file_extensions(POLYAD_CONTENTS_TENSOR, expected, sizeof expected);
  return cli_usage_error(
      "--input-format %s found; expected one of %s%s", cli_quote(quoted, extension), expected,
      cli_is_table_input(name) ? "; Parquet and Arrow files are read by their name, not from a pipe"
                               : "");
}

int cli_check_tensor_name(const char *path) {
  char quoted[CLI_QUOTE_BYTES], expected[256];
  if (polyad_file_format_find(path, POLYAD_CONTENTS_TENSOR) >= 0) return 0;
  (void)polyad_file_extensions(POLYAD_CONTENTS_TENSOR, expected, sizeof expected);
  return cli_usage_error("output %s has no known extension; expected %s", cli_quote(quoted, path),
                         expected);
}

int cli_mode_of(const polyad_tensor *labels, int order, const char *word, size_t length) {
  char digits[8];
  uint64_t number;
  for (int n = 0; labels != NULL && n < order; ++n) {
    const char *name = polyad_tensor_mode_name(labels, n);
    if (name != NULL && strlen(name) == length && memcmp(name, word, length) == 0) return n;
  }
  if (length == 0 || length >= sizeof digits) return -1;
  memcpy(digits, word, length);
  digits[length] = '\0';
  if (!cli_read_count(digits, &number) || number < 1 || number > (uint64_t)order) return -1;
  return (int)number - 1;
}

/* A name may have a comma: the longest beginning of what is left that is a mode counts. */
static int next_mode(const polyad_tensor *labels, int order, const char *at, size_t *length) {
  for (*length = strlen(at); *length > 0; --*length) {
    int mode = -1;
    if (at[*length] == '\0' || at[*length] == ',') mode = cli_mode_of(labels, order, at, *length);
    if (mode >= 0) return mode;
  }
  return -1;
}

int cli_modes_of(const polyad_tensor *labels, int order, const char *option, const char *list,
                 uint32_t *modes) {
  char quoted[CLI_QUOTE_BYTES];
  bool named = false;
  for (int n = 0; labels != NULL && n < order; ++n)
    named = named || polyad_tensor_mode_name(labels, n) != NULL;
  *modes = 0;
  for (const char *at = list;; ++at) {
    size_t length;
    int mode = next_mode(labels, order, at, &length);
    if (mode < 0 || (*modes >> mode & 1))
      return cli_usage_error("%s%s found; expected different modes by number (1 to %d)%s", option,
                             cli_quote(quoted, list), order, named ? " or name" : "");
    *modes |= UINT32_C(1) << mode;
    at += length;
    if (*at == '\0') return 0;
  }
}

int cli_nonnegative_modes(const polyad_tensor *labels, int order, const char *given,
                          uint32_t *modes) {
  *modes = 0;
  if (given == NULL) return 0;
  if (strcmp(given, CLI_ALL_MODES) != 0)
    return cli_modes_of(labels, order, "--nonnegative=", given, modes);
  *modes = (UINT32_C(1) << order) - 1;
  return 0;
}

int cli_mode_or_last(const polyad_tensor *tensor, const char *text, int *mode) {
  char quoted[CLI_QUOTE_BYTES];
  int order = polyad_tensor_order(tensor);
  *mode = text == NULL ? order - 1 : cli_mode_of(tensor, order, text, strlen(text));
  if (*mode >= 0) return 0;
  return cli_usage_error("--mode %s found; expected a mode by number (1 to %d) or name",
                         cli_quote(quoted, text), order);
}
