/* Names on the command line that only the library can judge, checked before any work. */
#ifndef CLI_NAMES_H
#define CLI_NAMES_H

#include <polyad/polyad.h>
#include <stdbool.h>

/** Each check returns 0, or 2 after an error that lists what is expected. */

/** A storage format with its parameters, "auto", or where `all` "all". */
int cli_check_format(polyad_context *context, const char *text, bool all);
/** A published tensor that can be imitated. */
int cli_check_like(const char *name);
/** The structure that --structure names; its choices are CLI_STRUCTURES. */
polyad_structure cli_structure(const char *name);
#define CLI_STRUCTURES "auto fibers flat"
/** A file or directory for a model of this kind: a name whose extension a file format has, a name
 * without an extension, DIR/, or "-". `option` is what asked for it, such as "--output". NULL is
 * fine. */
int cli_check_model_name(const char *option, const char *path, polyad_file_contents contents);
/** The same for the --output of a decomposition, which may also be a Parquet file; pages (.html)
 *  have been taken out by cli_output_is_page(). 1 where a Parquet file cannot be written here. */
int cli_check_result_name(const char *path, polyad_file_contents contents);
/** Whether --init names a file of first factors, and no way to find them. */
bool cli_init_is_file(const char *init);
/** 0 when that file, of a ktensor or a ttensor, is there; else 1 after an error that names the
 * ways, too. */
int cli_check_init(const char *init, const char *kind);

/** The file format that --input-format names by an extension, for reading; NULL: none. */
int cli_input_format(const char *extension, polyad_read_options *options);
/** The mode that the first `length` characters of a word name, from 0, by a name that `labels` has,
 * or else by its number; -1: none. `labels`: NULL, or a tensor of this order. */
int cli_mode_of(const polyad_tensor *labels, int order, const char *word, size_t length);
/** Different modes from a list such as 1,3, by numbers or by names that `labels` has: bit n of
 * *modes for mode n from 0. 0, or 2 after an error, in which `option` stands before the list. */
int cli_modes_of(const polyad_tensor *labels, int order, const char *option, const char *list,
                 uint32_t *modes);
/** The modes that --nonnegative names: none where `given` is NULL, or all (CLI_ALL_MODES), or those
 * of a list, as cli_modes_of() reads it. 0, or 2 after an error. */
int cli_nonnegative_modes(const polyad_tensor *labels, int order, const char *given,
                          uint32_t *modes);
/** The mode that --mode names, the last where `text` is NULL. 0, or 2 after an error. */
int cli_mode_or_last(const polyad_tensor *tensor, const char *text, int *mode);
/** A tensor file whose extension says its format, or "-". */
int cli_check_tensor_name(const char *path);

#endif
