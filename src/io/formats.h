/* The file formats: what each file of this folder reads and writes. */
#ifndef PD_IO_FORMATS_H
#define PD_IO_FORMATS_H

#include "io/atomic_file.h"
#include "io/input.h"
#include "tensor/tensor.h"
#include <polyad/io.h>

/* FROSTT text */
polyad_status pd_tns_read(polyad_context *context, struct pd_input *input,
                          const polyad_read_options *options, polyad_tensor **tensor);
/** The nonzero lines after a header of `lines` lines that declared how many follow. */
polyad_status pd_tns_read_body(polyad_context *context, struct pd_input *input,
                               const polyad_read_options *options, uint64_t declared,
                               uint64_t lines, polyad_tensor **tensor);
/** How the text is divided among threads; results do not depend on it. */
struct pd_tns_blocks {
  size_t block_bytes; /* read at once */
  size_t piece_bytes; /* fewest that a thread parses */
};
/** The same with other blocks than the usual ones: for tests. */
polyad_status pd_tns_read_blocks(polyad_context *context, struct pd_input *input,
                                 const polyad_read_options *options,
                                 const struct pd_tns_blocks *blocks, uint64_t declared,
                                 uint64_t lines, polyad_tensor **tensor);
polyad_status pd_tns_write(polyad_context *context, const polyad_tensor *tensor, const char *path);
/** Appends the nonzeros as lines, formatted in parallel. */
/** What a comment that states the dims begins with; they follow, each behind a blank. */
#define PD_TNS_DIMS_COMMENT "# dims:"
/** Writes the line "# dims: I1 I2 ...", a comment for other readers, by which pd_tns_read() knows
 * the lengths of modes that end in empty slices. */
polyad_status pd_tns_write_dims(struct pd_output *output, int order, const uint64_t *dims);
polyad_status pd_tns_write_lines(polyad_context *context, const polyad_tensor *tensor,
                                 struct pd_output *output);

/* Tensor Toolbox text */

/** Whether the input begins with a word that Tensor Toolbox text begins with. */
polyad_status pd_toolbox_recognise(struct pd_input *input, bool *is_toolbox);
polyad_status pd_toolbox_read(polyad_context *context, struct pd_input *input,
                              const polyad_read_options *options, polyad_tensor **tensor);
polyad_status pd_toolbox_write(polyad_context *context, const polyad_tensor *tensor,
                               const char *path);

/* polyad's binary: opens the file itself, because it is read in parallel at offsets */
polyad_status pd_ptn_read(polyad_context *context, const char *path,
                          const polyad_read_options *options, polyad_tensor **tensor);
/** Whether the input begins as such a file does. */
bool pd_ptn_recognise(struct pd_input *input);
/** The same from an input of which nothing was read, in order. */
polyad_status pd_ptn_read_input(polyad_context *context, struct pd_input *input,
                                const polyad_read_options *options, polyad_tensor **tensor);
polyad_status pd_ptn_write(polyad_context *context, const polyad_tensor *tensor, const char *path);

/* Delimited text with labels */
polyad_status pd_delimited_read(polyad_context *context, const char *path,
                                const polyad_read_options *options, polyad_tensor **tensor);
polyad_status pd_delimited_write(polyad_context *context, const polyad_tensor *tensor,
                                 const char *path, char delimiter);

/** Reads the label files that belong to a tensor file, where there are any. */
polyad_status pd_labels_attach(polyad_context *context, const char *path,
                               const polyad_read_options *options, polyad_tensor *tensor);
/** Writes label files beside a tensor file, when the tensor has labels. */
polyad_status pd_labels_write(polyad_context *context, const polyad_tensor *tensor,
                              const char *path);

/** Format by the extension of a name, compression set aside; POLYAD_FILE_AUTO when unknown. */
polyad_file_format pd_file_format_of(const char *path, char *delimiter);

#endif
