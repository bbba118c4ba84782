/** @file
 *  @brief Reading and writing tensors and models.
 *
 *  Readers are strict: what they do not understand is an error that names file, line and
 *  column. Writers write beside the target and rename, so that a failure leaves the old
 *  file as it was. The name "-" means standard input or output. */
#ifndef POLYAD_IO_H
#define POLYAD_IO_H

#include <polyad/model.h>
#include <polyad/ttensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Formats of files. */
typedef enum polyad_file_format {
  POLYAD_FILE_AUTO = 0,     /**< by extension (and first line) */
  POLYAD_FILE_TNS = 1,      /**< FROSTT text: indices and a value on each line */
  POLYAD_FILE_TOOLBOX = 2,  /**< Tensor Toolbox text: "sptensor" */
  POLYAD_FILE_PTN = 3,      /**< polyad's binary */
  POLYAD_FILE_DELIMITED = 4 /**< delimited text with a header and labels (.csv, .tsv) */
} polyad_file_format;

/** How to read a tensor. Start from polyad_read_options_init(). */
typedef struct polyad_read_options {
  polyad_file_format format;       /**< default POLYAD_FILE_AUTO */
  polyad_type type;                /**< type of the values in memory (default POLYAD_F64) */
  int index_base;                  /**< 1 (default) or 0: smallest index in text files */
  int pattern;                     /**< non-zero: lines have indices only, all values are 1 */
  polyad_duplicates duplicates;    /**< what becomes of repeated coordinates (default: sum) */
  int order;                       /**< number of dims given, 0: none given */
  uint64_t dims[POLYAD_MAX_ORDER]; /**< dims; an index outside them is an error */
  const char *labels;              /**< directory with mode-K-*.map[.gz]; NULL: STEM.labels beside
                                        the file if it is there; "": none */
  const char *columns;             /**< delimited text: comma-separated columns that are modes, each
                                        NAME[:round=D|:bin=W]; NULL: all but the value column */
  const char *value;               /**< delimited text: column of the values; NULL: "value" where
                                        there is such a column, else rows are counted */
  char delimiter;                  /**< delimited text: comma, tab or another; 0: by extension */
} polyad_read_options;

/** Sets the defaults named above. */
POLYAD_API void polyad_read_options_init(polyad_read_options *options);

/** Reads a tensor. `.gz` and `.zst` are decompressed on the way.
 *  @param path     file, or "-" for standard input
 *  @param options  NULL: defaults
 *  @param[out] tensor  destroyed with polyad_tensor_destroy()
 *  @return POLYAD_IO, POLYAD_PARSE (with the place), POLYAD_UNSUPPORTED, POLYAD_OUT_OF_MEMORY,
 *  POLYAD_MEMORY_LIMIT, POLYAD_OVERFLOW */
POLYAD_API POLYAD_CHECKED polyad_status polyad_tensor_read(polyad_context *context,
                                                           const char *path,
                                                           const polyad_read_options *options,
                                                           polyad_tensor **tensor);

/** Writes a tensor in the given format (POLYAD_FILE_AUTO: by the extension of `path`: .tns,
 *  .txt (Tensor Toolbox), .ptn, .csv, .tsv, each but .ptn also with .gz or .zst).
 *  @return POLYAD_IO, POLYAD_INVALID_ARGUMENT for an unknown extension, POLYAD_UNSUPPORTED */
POLYAD_API POLYAD_CHECKED polyad_status polyad_tensor_write(polyad_context *context,
                                                            const polyad_tensor *tensor,
                                                            const char *path,
                                                            polyad_file_format format);

/** Reads a Kruskal tensor from Tensor Toolbox text ("ktensor").
 *  @return POLYAD_IO, POLYAD_PARSE */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ktensor_read(polyad_context *context,
                                                            const char *path, polyad_type type,
                                                            polyad_ktensor **ktensor);
/** Writes a Kruskal tensor as Tensor Toolbox text, 17 significant digits (9 for floats). */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ktensor_write(polyad_context *context,
                                                             const polyad_ktensor *ktensor,
                                                             const char *path);
/** Writes a new directory with lambda.txt, mode1.txt, …, modeN.txt and, where `tensor` (may
 *  be NULL) has labels, mode1.top.tsv, … with the `top` strongest rows of each component.
 *  @return POLYAD_IO also when `path` exists already */
POLYAD_API POLYAD_CHECKED polyad_status
polyad_ktensor_write_directory(polyad_context *context, const polyad_ktensor *ktensor,
                               const polyad_tensor *tensor, int top, const char *path);

/** Reads a Tucker tensor: the word "ttensor", the number of modes and their lengths, then the core
 *  as Tensor Toolbox text has a "tensor" (first mode fastest) and each factor as a "matrix".
 *  @return POLYAD_IO, POLYAD_PARSE */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ttensor_read(polyad_context *context,
                                                            const char *path, polyad_type type,
                                                            polyad_ttensor **ttensor);
/** Writes a Tucker tensor as polyad_ttensor_read() reads it. */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ttensor_write(polyad_context *context,
                                                             const polyad_ttensor *ttensor,
                                                             const char *path);
/** Writes a new directory with core.txt (R_1 rows; along a row the last mode varies fastest),
 *  mode1.txt, …, modeN.txt and, where `tensor` (may be NULL) has labels, mode1.top.tsv, … with the
 *  `top` rows of largest magnitude of each column.
 *  @return POLYAD_IO also when `path` exists already */
POLYAD_API POLYAD_CHECKED polyad_status
polyad_ttensor_write_directory(polyad_context *context, const polyad_ttensor *ttensor,
                               const polyad_tensor *tensor, int top, const char *path);

/** Reads a matrix from Tensor Toolbox text ("matrix").
 *  @param[out] values  rows x columns doubles, row major; freed with polyad_free() */
POLYAD_API POLYAD_CHECKED polyad_status polyad_matrix_read(polyad_context *context,
                                                           const char *path, uint64_t *rows,
                                                           uint64_t *columns, double **values);
/** Writes a matrix as Tensor Toolbox text. */
POLYAD_API POLYAD_CHECKED polyad_status polyad_matrix_write(polyad_context *context, uint64_t rows,
                                                            uint64_t columns, const double *values,
                                                            const char *path);
/** Writes text to a file as every output is written: beside the target, then renamed.
 *  @return POLYAD_IO */
POLYAD_API POLYAD_CHECKED polyad_status polyad_text_write(polyad_context *context, const char *path,
                                                          const char *text, size_t length);
/** Fails when a file could not be written now (missing or unwritable directory, a directory of
 *  that name), without leaving anything behind: so that a long computation fails at its start.
 *  @return POLYAD_IO */
POLYAD_API POLYAD_CHECKED polyad_status polyad_output_check(polyad_context *context,
                                                            const char *path);
/** Frees an array that a function of this library returned; NULL is fine. */
POLYAD_API void polyad_free(polyad_context *context, void *array);

#ifdef __cplusplus
}
#endif
#endif
