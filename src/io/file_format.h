/* The table of file formats. A row says what files of a format are called, how their first bytes
 * look, what they hold, and which functions read and write it; all else that knows file formats
 * (reading and writing by name, messages that list extensions, "polyad help files") asks the table.
 * A new file format is a file with these functions and a row in file_format.c. */
#ifndef PD_FILE_FORMAT_H
#define PD_FILE_FORMAT_H

#include "io/input.h"
#include "tensor/model_arrays.h"
#include <polyad/io.h>

/** A model to be read. The reader fails when the file holds one of another kind. */
struct pd_model_read {
  polyad_file_contents wanted; /* POLYAD_CONTENTS_KTENSOR or POLYAD_CONTENTS_TTENSOR */
  polyad_type type;            /* of the numbers in memory */
  /* found: */
  polyad_ktensor *ktensor;
  polyad_ttensor *ttensor;
  polyad_tensor *outline; /* names and labels; NULL where the file has none */
};

/** Makes the model that is wanted, of such a shape; `arrays` are its arrays, to be filled. */
polyad_status pd_model_make(polyad_context *context, int order, const uint64_t *dims,
                            const uint64_t *ranks, struct pd_model_read *model,
                            struct pd_model *arrays);
/** Makes the outline of a model of such dims, to be given names and labels. */
polyad_status pd_model_make_outline(polyad_context *context, int order, const uint64_t *dims,
                                    struct pd_model_read *model);
/** Fails: the file holds the kind of model that is not wanted. */
polyad_status pd_model_fail_kind(polyad_context *context, const char *path,
                                 const struct pd_model_read *model);

/** A row of the table. A slot that is NULL: the format cannot do that. */
struct pd_file_format {
  polyad_file_format number;
  const char *name;
  const char *summary;
  /** Extensions of files with a tensor, a Kruskal tensor, a Tucker tensor: separated by blanks, the
   *  usual one first; NULL: it holds none of these. "/" is the end of a directory's name. */
  const char *extensions[POLYAD_CONTENTS_COUNT];
  bool compressed; /* .gz and .zst may follow the extension */
  bool labels;     /* files have names and labels inside */
  bool opens;      /* read_tensor opens the file itself where the name tells the format */
  /** Whether a file that begins with these bytes is of this format. NULL: only its name tells. */
  bool (*recognise)(const unsigned char *head, size_t size);
  /** Reads a tensor from `input`, or with `opens` from `path` where `input` is NULL. */
  polyad_status (*read_tensor)(polyad_context *context, const char *path, struct pd_input *input,
                               const polyad_read_options *options, polyad_tensor **tensor);
  polyad_status (*write_tensor)(polyad_context *context, const polyad_tensor *tensor,
                                const char *path);
  polyad_status (*read_model)(polyad_context *context, struct pd_input *input,
                              struct pd_model_read *model);
  polyad_status (*write_model)(polyad_context *context, const struct pd_model *model,
                               const char *path);
};

/** The row with this number. */
const struct pd_file_format *pd_file_format_numbered(polyad_file_format number);
/** The row whose files with such contents have the extension of this name (compression set aside);
 *  NULL where none has. */
const struct pd_file_format *pd_file_format_by_name(const char *path,
                                                    polyad_file_contents contents);
/** The row that recognises the first bytes; NULL where none does. */
const struct pd_file_format *pd_file_format_recognise(struct pd_input *input);
/** The row that writes such contents under this name; NULL where none does. Standard output and,
 *  for models, names without an extension get text. */
const struct pd_file_format *pd_file_format_to_write(const char *path,
                                                     polyad_file_contents contents);
/** Fails because no format writes such contents under this name, and lists the extensions. */
polyad_status pd_file_format_fail(polyad_context *context, const char *path,
                                  polyad_file_contents contents);

/** Whether a name has this extension, compression set aside. */
bool pd_has_extension(const char *path, const char *extension);

#endif
