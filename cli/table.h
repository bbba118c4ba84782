/* Parquet and Arrow files, for which this command has no library: polyad-table of the Python
 * package, a program of its own, turns them into delimited text, and models into Parquet files. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <polyad/polyad.h>
#include <stdbool.h>
#include <sys/types.h>

/** Whether a name is that of a Parquet file; NULL is none. */
bool cli_is_table_name(const char *path);
/** Whether a name is that of a Parquet or Arrow file, which polyad-table reads. */
bool cli_is_table_input(const char *path);

/** Begins to read a Parquet or Arrow file: its rows are the delimited text of standard input, which
 *  `options` say from then on. *child: the process that writes them; 0 where `path` is no such
 *  file, which stays as it was. 0, or 1 after an error. */
int cli_table_open(const char *path, polyad_read_options *options, pid_t *child);
/** After standard input was read, to its end or not: 0 where all rows came from there, which is so
 *  without a child too; else 1 after an error, which was printed. */
int cli_table_close(const char *path, pid_t child);

/** Whether polyad-table is there and can write such files: 0, else 1 after an error that names
 *  `path`. */
int cli_table_check(const char *path);

/** Where a model that goes to `path` is to be written: `path` itself, or for a Parquet file a name
 *  in a new folder for temporary files. NULL after an error. */
char *cli_table_begin(const char *path);
/** After the model was written to `written`, with `status` 0 where that went well: makes the
 * Parquet file of it where `path` names one, and frees `written` with its folder. Returns the exit
 * status. */
int cli_table_end(const char *path, char *written, int status);

#endif
