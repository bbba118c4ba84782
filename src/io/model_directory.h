/* Models as directories of plain text. */
#ifndef PD_MODEL_DIRECTORY_H
#define PD_MODEL_DIRECTORY_H

#include "io/file_format.h"
#include "tensor/ktensor.h"

enum { PD_DIRECTORY_FILE_BYTES = 4096 + 64 };

/** Writes rows x columns numbers, a row on each line. */
polyad_status pd_directory_matrix(polyad_context *context, const char *path, polyad_type type,
                                  const void *matrix, uint64_t rows, uint64_t columns);
/** Writes the `top` rows of largest magnitude of each column of a factor with their labels. */
polyad_status pd_directory_top(polyad_context *context, const polyad_ktensor *ktensor,
                               const polyad_tensor *tensor, int mode, uint64_t top,
                               const char *path);

/** Writes the files of a model into a directory that exists. */
typedef polyad_status pd_directory_function(polyad_context *context, const void *user,
                                            const char *directory);
/** Makes the directory `path`, which must not exist, with what `write` puts there. `tensor` gives
 *  labels (NULL: none) and must have the model's dims. */
polyad_status pd_directory_write(polyad_context *context, const polyad_tensor *tensor, int order,
                                 const uint64_t *dims, const char *path,
                                 pd_directory_function *write, const void *user);

/** Writes a model as the new directory `path`; the slot of the file format. */
polyad_status pd_directory_write_model(polyad_context *context, const struct pd_model *model,
                                       const char *path);

#endif
