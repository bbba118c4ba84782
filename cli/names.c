#include "names.h"
#include "text.h"
#include <stdio.h>
#include <string.h>

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
  if (name == NULL || strcmp(name, "auto") == 0) return POLYAD_STRUCTURE_AUTO;
  return strcmp(name, "flat") == 0 ? POLYAD_STRUCTURE_FLAT : POLYAD_STRUCTURE_FIBERS;
}

static bool ends_with(const char *path, size_t length, const char *end) {
  size_t size = strlen(end);
  return length > size && memcmp(path + length - size, end, size) == 0;
}

int cli_check_model_name(const char *option, const char *path, const char *extension) {
  char quoted[CLI_QUOTE_BYTES];
  if (path == NULL) return 0;
  const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
  const char *dot = strrchr(name, '.');
  /* A name that begins with its only dot is hidden; it has no extension. */
  if (*name == '\0' || dot == NULL || dot == name) return 0;
  if (strcmp(dot, extension) == 0 || strcmp(dot, ".txt") == 0) return 0;
  return cli_usage_error("%s %s has an extension that no model has; expected %s or .txt (Tensor "
                         "Toolbox text), or DIR/ for a directory",
                         option, cli_quote(quoted, path), extension);
}

int cli_check_tensor_name(const char *path) {
  static const char *const extensions[] = {".tns", ".txt", ".sptensor", ".csv", ".tsv"};
  char quoted[CLI_QUOTE_BYTES];
  size_t length = strlen(path);
  if (strcmp(path, "-") == 0 || ends_with(path, length, ".ptn")) return 0;
  if (ends_with(path, length, ".gz"))
    length -= 3;
  else if (ends_with(path, length, ".zst"))
    length -= 4;
  const char *slash = strrchr(path, '/');
  size_t folder = slash == NULL ? 0 : (size_t)(slash - path) + 1;
  for (size_t k = 0; k < sizeof extensions / sizeof *extensions && folder < length; ++k)
    if (ends_with(path + folder, length - folder, extensions[k])) return 0;
  return cli_usage_error("output %s has no known extension; expected .tns, .txt, .ptn, .csv or "
                         ".tsv, all but .ptn also with .gz or .zst",
                         cli_quote(quoted, path));
}
