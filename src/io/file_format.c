/* The table of file formats, and how a name or the first bytes of a file find their row. */
#include "io/file_format.h"
#include "io/atomic_file.h"
#include "io/formats.h"
#include <stdio.h>
#include <string.h>

#define TENSOR POLYAD_CONTENTS_TENSOR
#define KTENSOR POLYAD_CONTENTS_KTENSOR
#define TTENSOR POLYAD_CONTENTS_TTENSOR
enum { EXTENSION_BYTES = 16 };

static const struct pd_file_format table[] = {
    {.number = POLYAD_FILE_TNS,
     .name = "tns",
     .summary = "FROSTT text: indices from 1 and a value on each line",
     .extensions[TENSOR] = ".tns",
     .compressed = true,
     .read_tensor = pd_tns_read,
     .write_tensor = pd_tns_write},
    {.number = POLYAD_FILE_TOOLBOX,
     .name = "toolbox",
     .summary = "Tensor Toolbox text: sptensor, ktensor; a Tucker tensor likewise",
     .extensions =
         {[TENSOR] = ".txt .sptensor", [KTENSOR] = ".ktensor .txt", [TTENSOR] = ".ttensor .txt"},
     .compressed = true,
     .recognise = pd_toolbox_recognise,
     .read_tensor = pd_toolbox_read,
     .write_tensor = pd_toolbox_write,
     .read_model = pd_toolbox_read_model,
     .write_model = pd_toolbox_write_model},
    {.number = POLYAD_FILE_PTN,
     .name = "ptn",
     .summary = "polyad's binary of a tensor: fast, with checksums and labels",
     .labels = true,
     .extensions[TENSOR] = ".ptn",
     .opens = true,
     .recognise = pd_ptn_recognise,
     .read_tensor = pd_ptn_read,
     .write_tensor = pd_ptn_write},
    {.number = POLYAD_FILE_DELIMITED,
     .name = "delimited",
     .summary = "comma- or tab-separated table with labels; of a model a long table",
     .labels = true,
     .extensions = {[TENSOR] = ".csv .tsv", [KTENSOR] = ".csv .tsv"},
     .compressed = true,
     .opens = true,
     .read_tensor = pd_delimited_read,
     .write_tensor = pd_delimited_write,
     .write_model = pd_delimited_write_model},
    {.number = POLYAD_FILE_PTM,
     .name = "ptm",
     .summary = "polyad's binary of a model: fast, with checksums and labels",
     .labels = true,
     .extensions = {[KTENSOR] = ".ptm", [TTENSOR] = ".ptm"},
     .compressed = true,
     .recognise = pd_ptm_recognise,
     .read_model = pd_ptm_read,
     .write_model = pd_ptm_write},
    {.number = POLYAD_FILE_NPZ,
     .name = "npz",
     .summary = "NumPy archive: arrays that numpy.load and sparse.load_npz read",
     .labels = true,
     .extensions = {[TENSOR] = ".npz", [KTENSOR] = ".npz", [TTENSOR] = ".npz"},
     .recognise = pd_npz_recognise,
     .read_tensor = pd_npz_read_tensor,
     .write_tensor = pd_npz_write,
     .read_model = pd_npz_read_model,
     .write_model = pd_npz_write_model},
    {.number = POLYAD_FILE_NPY,
     .name = "npy",
     .summary = "NumPy array: a dense tensor as numpy.save writes it",
     .extensions[TENSOR] = ".npy",
     .compressed = true,
     .recognise = pd_npy_recognise,
     .read_tensor = pd_npy_read_tensor},
    {.number = POLYAD_FILE_JSON,
     .name = "json",
     .summary = "a JSON object (docs/json/model.json)",
     .labels = true,
     .extensions = {[KTENSOR] = ".json", [TTENSOR] = ".json"},
     .compressed = true,
     .write_model = pd_json_write_model},
    {.number = POLYAD_FILE_DIRECTORY,
     .name = "directory",
     .summary = "a new directory with a text file for each factor",
     .labels = true,
     .extensions = {[KTENSOR] = "/", [TTENSOR] = "/"},
     .write_model = pd_directory_write_model},
};
enum { ROWS = sizeof table / sizeof *table };

const struct pd_file_format *pd_file_format_numbered(polyad_file_format number) {
  for (int k = 0; k < ROWS; ++k)
    if (table[k].number == number) return &table[k];
  return NULL;
}

/* ---- names ------------------------------------------------------------------------------------
 */

/* The next extension of a list, and the rest of the list behind it; false at its end. */
static bool next_extension(const char **list, char extension[EXTENSION_BYTES]) {
  if (*list == NULL) return false;
  *list += strspn(*list, " ");
  size_t length = strcspn(*list, " ");
  snprintf(extension, EXTENSION_BYTES, "%.*s", (int)length, *list);
  *list += length;
  return length > 0;
}

/* Length of a name without ".gz" or ".zst". */
static size_t plain_length(const char *path) {
  size_t length = strlen(path);
  switch (pd_compression_of(path)) {
  case PD_GZIP:
    return length - 3;
  case PD_ZSTD:
    return length - 4;
  case PD_PLAIN:
    break;
  }
  return length;
}

/* The part of a path behind its last slash. */
static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

bool pd_has_extension(const char *path, const char *extension) {
  size_t size = strlen(extension), length = plain_length(path);
  if (strcmp(extension, "/") == 0) return length > 0 && path[length - 1] == '/';
  const char *base = base_name(path);
  size_t folder = (size_t)(base - path);
  return length > folder + size && memcmp(path + length - size, extension, size) == 0;
}

const struct pd_file_format *pd_file_format_by_name(const char *path,
                                                    polyad_file_contents contents) {
  char extension[EXTENSION_BYTES];
  for (int k = 0; k < ROWS; ++k)
    for (const char *list = table[k].extensions[contents]; next_extension(&list, extension);)
      if (pd_has_extension(path, extension)) return &table[k];
  return NULL;
}

static bool writes(const struct pd_file_format *format, polyad_file_contents contents) {
  if (format->extensions[contents] == NULL) return false;
  return contents == TENSOR ? format->write_tensor != NULL : format->write_model != NULL;
}

static bool reads(const struct pd_file_format *format, polyad_file_contents contents) {
  if (format->extensions[contents] == NULL) return false;
  return contents == TENSOR ? format->read_tensor != NULL : format->read_model != NULL;
}

/* A name without a dot, or whose only dot begins it (a hidden file). */
static bool has_no_extension(const char *path) {
  const char *base = base_name(path);
  size_t length = plain_length(path) - (size_t)(base - path);
  for (size_t k = 1; k < length; ++k)
    if (base[k] == '.') return false;
  return length > 0;
}

const struct pd_file_format *pd_file_format_to_write(const char *path,
                                                     polyad_file_contents contents) {
  const struct pd_file_format *format = pd_file_format_by_name(path, contents);
  bool is_model = contents != TENSOR;
  if (strcmp(path, "-") == 0)
    format = pd_file_format_numbered(is_model ? POLYAD_FILE_TOOLBOX : POLYAD_FILE_TNS);
  else if (is_model && has_no_extension(path))
    format = pd_file_format_numbered(POLYAD_FILE_TOOLBOX);
  if (format == NULL || !writes(format, contents)) return NULL;
  return format->compressed || pd_compression_of(path) == PD_PLAIN ? format : NULL;
}

int polyad_file_format_find(const char *path, polyad_file_contents contents) {
  if (path == NULL || (int)contents < 0 || contents >= POLYAD_CONTENTS_COUNT) return -1;
  const struct pd_file_format *format = pd_file_format_to_write(path, contents);
  return format == NULL ? -1 : (int)(format - table);
}

/* ---- first bytes ------------------------------------------------------------------------------
 */

const struct pd_file_format *pd_file_format_recognise(struct pd_input *input) {
  const unsigned char *head;
  size_t size;
  if (pd_input_peek(input, &head, &size) != POLYAD_OK) return NULL;
  for (int k = 0; k < ROWS; ++k)
    if (table[k].recognise != NULL && table[k].recognise(head, size)) return &table[k];
  return NULL;
}

/* ---- descriptions -----------------------------------------------------------------------------
 */

/* Text that is cut where it would be too long. */
struct text {
  char *out;
  size_t size, length;
};

static void file_format_append(struct text *text, const char *what) {
  size_t room = text->length < text->size ? text->size - text->length : 0;
  if (room > 0) snprintf(text->out + text->length, room, "%s", what);
  text->length += strlen(what);
}

static const char *shown(const char *extension) {
  return strcmp(extension, "/") == 0 ? "DIR/ for a directory" : extension;
}

/* ".a, .b or .c" of all rows that write such contents. */
static void append_extensions(struct text *text, polyad_file_contents contents) {
  char extension[EXTENSION_BYTES];
  int count = 0, done = 0;
  for (int k = 0; k < ROWS; ++k)
    if (writes(&table[k], contents))
      for (const char *list = table[k].extensions[contents]; next_extension(&list, extension);)
        ++count;
  for (int k = 0; k < ROWS; ++k)
    if (writes(&table[k], contents))
      for (const char *list = table[k].extensions[contents]; next_extension(&list, extension);) {
        file_format_append(text, done == 0 ? "" : done + 1 == count ? " or " : ", ");
        file_format_append(text, shown(extension));
        ++done;
      }
}

/* " (.gz or .zst may follow; not compressed: .a, .b)" */
static void append_compressed(struct text *text, polyad_file_contents contents) {
  char extension[EXTENSION_BYTES];
  const char *between = "; not compressed:";
  file_format_append(text, " (.gz or .zst may follow");
  for (int k = 0; k < ROWS; ++k)
    if (writes(&table[k], contents) && !table[k].compressed)
      for (const char *list = table[k].extensions[contents]; next_extension(&list, extension);) {
        if (strcmp(extension, "/") == 0) continue;
        file_format_append(text, between);
        file_format_append(text, " ");
        file_format_append(text, extension);
        between = ",";
      }
  file_format_append(text, ")");
}

size_t polyad_file_extensions(polyad_file_contents contents, char *out, size_t size) {
  struct text text = {out, size, 0};
  if (size > 0 && out != NULL) out[0] = '\0';
  if (out == NULL || (int)contents < 0 || contents >= POLYAD_CONTENTS_COUNT) return 0;
  append_extensions(&text, contents);
  append_compressed(&text, contents);
  return text.length;
}

polyad_status pd_file_format_fail(polyad_context *context, const char *path,
                                  polyad_file_contents contents) {
  static const char *const what[] = {"a tensor", "a model (ktensor)", "a Tucker model (ttensor)"};
  char expected[256];
  (void)polyad_file_extensions(contents, expected, sizeof expected);
  return pd_fail_at(context, POLYAD_INVALID_ARGUMENT, path, 0, 0,
                    "no file format with this extension is written for %s; expected %s",
                    what[contents], expected);
}

int polyad_file_format_count(void) { return ROWS; }

polyad_status polyad_file_format_describe(int k, polyad_file_description *description) {
  if (description == NULL || k < 0 || k >= ROWS) return POLYAD_INVALID_ARGUMENT;
  const struct pd_file_format *format = &table[k];
  *description = (polyad_file_description){.name = format->name,
                                           .summary = format->summary,
                                           .number = format->number,
                                           .compressed = format->compressed,
                                           .labels = format->labels};
  for (int c = 0; c < POLYAD_CONTENTS_COUNT; ++c) {
    description->extensions[c] = format->extensions[c] == NULL ? "" : format->extensions[c];
    description->reads[c] = reads(format, (polyad_file_contents)c);
    description->writes[c] = writes(format, (polyad_file_contents)c);
  }
  return POLYAD_OK;
}
