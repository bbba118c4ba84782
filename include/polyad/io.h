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
  POLYAD_FILE_AUTO = 0,      /**< by extension (and first bytes) */
  POLYAD_FILE_TNS = 1,       /**< FROSTT text: indices and a value on each line */
  POLYAD_FILE_TOOLBOX = 2,   /**< Tensor Toolbox text: "sptensor", "ktensor", "ttensor" */
  POLYAD_FILE_PTN = 3,       /**< polyad's binary of a tensor */
  POLYAD_FILE_DELIMITED = 4, /**< delimited text with a header and labels (.csv, .tsv); of a
                                  Kruskal tensor a long table */
  POLYAD_FILE_DIRECTORY = 5, /**< a model as a directory of text files */
  POLYAD_FILE_PTM = 6,       /**< polyad's binary of a model */
  POLYAD_FILE_JSON = 7,      /**< a model as a JSON object */
  POLYAD_FILE_NPZ = 8,       /**< NumPy archive of a tensor or a model */
  POLYAD_FILE_NPY = 9        /**< NumPy array, whose nonzeros are read as a tensor */
} polyad_file_format;

/** What a file holds. */
typedef enum polyad_file_contents {
  POLYAD_CONTENTS_TENSOR = 0,  /**< a sparse tensor */
  POLYAD_CONTENTS_KTENSOR = 1, /**< a Kruskal tensor: the model of a CP decomposition */
  POLYAD_CONTENTS_TTENSOR = 2  /**< a Tucker tensor */
} polyad_file_contents;
/** Number of kinds of contents. */
#define POLYAD_CONTENTS_COUNT 3

/** What a file format is like. Texts belong to the library. */
typedef struct polyad_file_description {
  const char *name;                              /**< such as "tns" */
  const char *summary;                           /**< one line */
  polyad_file_format number;                     /**< its number above */
  const char *extensions[POLYAD_CONTENTS_COUNT]; /**< by contents, separated by blanks, the usual
                                                      one first ("/": a directory); "": none */
  int reads[POLYAD_CONTENTS_COUNT];              /**< non-zero: such files are read */
  int writes[POLYAD_CONTENTS_COUNT];             /**< non-zero: such files are written */
  int compressed;                                /**< non-zero: .gz or .zst may follow */
  int labels;                                    /**< non-zero: names and labels are in the file */
} polyad_file_description;

/** Number of file formats. */
POLYAD_API int polyad_file_format_count(void);
/** Describes file format `k`, from 0.
 *  @return POLYAD_INVALID_ARGUMENT when there is no such format */
POLYAD_API POLYAD_CHECKED polyad_status
polyad_file_format_describe(int k, polyad_file_description *description);
/** Which file format the writer of such contents takes for a name: "-" and, for models, a name
 *  without an extension get text.
 *  @return its number k, or -1 when no format with such contents has that extension */
POLYAD_API int polyad_file_format_find(const char *path, polyad_file_contents contents);
/** Lists the extensions under which such contents are written, for messages: ".tns, .txt or .ptn
 *  (...)".
 *  @return length of the whole text, which is cut to `size` - 1 bytes */
POLYAD_API size_t polyad_file_extensions(polyad_file_contents contents, char *text, size_t size);

/** What becomes of rows of delimited text that lack the field of a mode, of the values or of a
 *  condition (empty, NA, N/A, NaN, NaT, null, NULL, None, \#N/A). */
typedef enum polyad_missing {
  POLYAD_MISSING_KEEP = 0, /**< labels are kept as they are; a value must be a number */
  POLYAD_MISSING_SKIP = 1, /**< such rows are left out, and a warning says how many */
  POLYAD_MISSING_ERROR = 2 /**< the first such row is an error */
} polyad_missing;

/** How numbers of delimited text are written. All but the first take marks between groups of three
 *  digits (comma, point, blank or apostrophe), a currency in front or behind ($, the euro's sign,
 *  EUR, ...; the same one in every row of the values) and parentheses for a minus. */
typedef enum polyad_numbers {
  POLYAD_NUMBERS_PLAIN = 0,   /**< 1234.5 */
  POLYAD_NUMBERS_GROUPED = 1, /**< 1,234.5 or 1.234,5: as each number tells; 1,234 and 1.234, which
                                   do not tell, are errors */
  POLYAD_NUMBERS_POINT = 2,   /**< 1,234.5: the point is the decimal mark */
  POLYAD_NUMBERS_COMMA = 3    /**< 1.234,5: the comma is the decimal mark */
} polyad_numbers;

/** How to read a tensor. Start from polyad_read_options_init(). */
typedef struct polyad_read_options {
  polyad_file_format format;       /**< default POLYAD_FILE_AUTO */
  polyad_type type;                /**< type of the values in memory (default POLYAD_F64) */
  int index_base;                  /**< 1 (default) or 0: smallest index in text files */
  int pattern;                     /**< non-zero: lines have indices only, all values are 1 */
  polyad_duplicates duplicates;    /**< what becomes of repeated coordinates (default: sum) */
  polyad_zeros zeros;              /**< what becomes of zeros (default: POLYAD_ZEROS_DROP) */
  int order;                       /**< number of dims given, 0: none given */
  uint64_t dims[POLYAD_MAX_ORDER]; /**< dims; an index outside them is an error */
  const char *labels;              /**< directory with mode-K-*.map[.gz]; NULL: STEM.labels beside
                                        the file if it is there; "": none */
  const char *columns;             /**< delimited text: comma-separated columns that are modes, each
                                        NAME[:round=D|:bin=W], or of times NAME:hour, :weekday,
                                        :date, :week or :month, with =dmy or =mdy behind it where
                                        3/4/2024 may occur; NULL: all but the value column */
  const char *value;               /**< delimited text: column of the values; NULL: "value" where
                                        there is such a column, else rows are counted */
  char delimiter;                  /**< delimited text: comma, tab or another; 0: by extension */
  const char *where;               /**< delimited text: rows to take: comma-separated conditions
                                        COLUMN=TEXT, COLUMN<BOUND, COLUMN>BOUND (a number or a
                                        time), all of which hold; NULL: all rows */
  polyad_missing missing;          /**< delimited text: rows that lack something (default
                                        POLYAD_MISSING_KEEP) */
  polyad_numbers numbers;          /**< delimited text: values, numbers to round, bin or compare
                                        (default POLYAD_NUMBERS_PLAIN) */
  const char *time_zone;           /**< delimited text: FROM:TO moves times from the clocks of one
                                        time zone to those of another, by their names in the
                                        system's tz database; FROM alone: times with a zone behind
                                        them, such as +01:00, are moved there; :TO all times have
                                        one. FROM=earlier and FROM=later say which is meant of an
                                        hour that clocks showed twice, which is an error without,
                                        as are times that they left out. NULL: times count as they
                                        are written, zones are left aside */
  int shares; /**< parts that the file is read in, by as many members of a team (polyad/team.h); 0
                   (default) and 1: one, the whole */
  int share;  /**< which of them to read, from 0: of a .ptn file some blocks, of a plain .tns file
                   some lines, of others all (share 0) or nothing. Dims are then those that this
                   part tells, and there are no labels but in share 0 of a file that has them inside
                   and is no .ptn file; a part without any nonzero has one mode of length 1 where
                   nothing tells more */
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

/** Reads the dims, mode names and labels of a .ptn file, without its nonzeros: what
 *  polyad_tensor_outline() makes of a tensor in memory.
 *  @param[out] outline  destroyed with polyad_tensor_destroy()
 *  @return POLYAD_IO, POLYAD_PARSE, POLYAD_UNSUPPORTED for other files, POLYAD_OUT_OF_MEMORY,
 *  POLYAD_MEMORY_LIMIT */
POLYAD_API POLYAD_CHECKED polyad_status polyad_tensor_read_outline(polyad_context *context,
                                                                   const char *path,
                                                                   polyad_tensor **outline);

/** Writes a tensor in the given format (POLYAD_FILE_AUTO: by the extension of `path`, see
 *  polyad_file_extensions()).
 *  @return POLYAD_IO, POLYAD_INVALID_ARGUMENT for an unknown extension, POLYAD_UNSUPPORTED */
POLYAD_API POLYAD_CHECKED polyad_status polyad_tensor_write(polyad_context *context,
                                                            const polyad_tensor *tensor,
                                                            const char *path,
                                                            polyad_file_format format);

/** Reads a Kruskal tensor: the first bytes tell the file format, Tensor Toolbox text ("ktensor")
 *  or another that models are read from.
 *  @return POLYAD_IO, POLYAD_PARSE, POLYAD_UNSUPPORTED */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ktensor_read(polyad_context *context,
                                                            const char *path, polyad_type type,
                                                            polyad_ktensor **ktensor);
/** Reads a Kruskal tensor as polyad_ktensor_read() does, and the names of its modes and the labels
 *  of its indices where the file has some, or the directory PATH.labels beside it, as
 *  polyad_ktensor_write_labelled() makes it.
 *  @param[out] outline  a tensor without nonzeros that has names and labels (see
 *  polyad_tensor_outline()), destroyed with polyad_tensor_destroy(); NULL when the file has none */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ktensor_read_labelled(polyad_context *context,
                                                                     const char *path,
                                                                     polyad_type type,
                                                                     polyad_ktensor **ktensor,
                                                                     polyad_tensor **outline);
/** Writes a Kruskal tensor; the extension of `path` chooses the file format (see
 *  polyad_file_extensions()). Numbers of text read back as the same bits.
 *  @return POLYAD_IO, POLYAD_INVALID_ARGUMENT for an unknown extension */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ktensor_write(polyad_context *context,
                                                             const polyad_ktensor *ktensor,
                                                             const char *path);
/** Writes a Kruskal tensor as polyad_ktensor_write() does, with the names of modes and the labels
 *  of indices of `tensor`: in the file where its format keeps them; beside Tensor Toolbox text in
 *  the directory PATH.labels, as files mode-1-NAME.map with a label a line. Such files of an
 * earlier model of this path go.
 *  @param tensor  of the model's dims, or NULL for no names and labels */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ktensor_write_labelled(polyad_context *context,
                                                                      const polyad_ktensor *ktensor,
                                                                      const polyad_tensor *tensor,
                                                                      const char *path);
/** Writes a new directory with lambda.txt, mode1.txt, …, modeN.txt and, where `tensor` (may
 *  be NULL) has labels, mode1.top.tsv, … with the `top` strongest rows of each component.
 *  @return POLYAD_IO also when `path` exists already */
POLYAD_API POLYAD_CHECKED polyad_status
polyad_ktensor_write_directory(polyad_context *context, const polyad_ktensor *ktensor,
                               const polyad_tensor *tensor, int top, const char *path);

/** Reads a Tucker tensor, as polyad_ktensor_read() reads its kind. As text it is the word
 *  "ttensor", the number of modes and their lengths, then the core as Tensor Toolbox text has a
 *  "tensor" (first mode fastest) and each factor as a "matrix".
 *  @return POLYAD_IO, POLYAD_PARSE, POLYAD_UNSUPPORTED */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ttensor_read(polyad_context *context,
                                                            const char *path, polyad_type type,
                                                            polyad_ttensor **ttensor);
/** Reads a Tucker tensor as polyad_ttensor_read() does, with the names and labels that
 *  polyad_ktensor_read_labelled() describes. */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ttensor_read_labelled(polyad_context *context,
                                                                     const char *path,
                                                                     polyad_type type,
                                                                     polyad_ttensor **ttensor,
                                                                     polyad_tensor **outline);
/** Writes a Tucker tensor, as polyad_ktensor_write() writes its kind. */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ttensor_write(polyad_context *context,
                                                             const polyad_ttensor *ttensor,
                                                             const char *path);
/** Writes a Tucker tensor as polyad_ttensor_write() does, with the names and labels that
 *  polyad_ktensor_write_labelled() describes. */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ttensor_write_labelled(polyad_context *context,
                                                                      const polyad_ttensor *ttensor,
                                                                      const polyad_tensor *tensor,
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
