/* Readers and writers of the file formats: what stands in the rows of file_format.c, and what the
 * formats share. The rows' slots are described in file_format.h. */
#ifndef PD_IO_FORMATS_H
#define PD_IO_FORMATS_H

#include "io/atomic_file.h"
#include "io/file_format.h"
#include "io/input.h"
#include "tensor/tensor.h"
#include <polyad/io.h>

/* FROSTT text */
polyad_status pd_tns_read(polyad_context *context, const char *path, struct pd_input *input,
                          const polyad_read_options *options, polyad_tensor **tensor);
/** The nonzero lines after a header of `lines` lines that declared how many follow. */
polyad_status pd_tns_read_body(polyad_context *context, struct pd_input *input,
                               const polyad_read_options *options, uint64_t declared,
                               uint64_t lines, polyad_tensor **tensor);
struct pd_coordinates;
/** Who takes the nonzeros while they are read, so that memory need not hold all of them. Called
 *  after every block, and with `last` at the end. */
struct pd_tns_sink {
  /** May take (and clear) what there is. `dims`: NULL where they are not given. */
  polyad_status (*take)(void *user, struct pd_coordinates *coordinates, const uint64_t *dims,
                        bool last);
  void *user;
  uint64_t memory; /* that it has for nonzeros: blocks of text are small beside it */
};
/** Lines of a whole file, which are handed to the sink. */
polyad_status pd_tns_read_into(polyad_context *context, struct pd_input *input,
                               const polyad_read_options *options, const struct pd_tns_sink *sink);
/** How the text is divided among threads; results do not depend on it. */
struct pd_tns_blocks {
  size_t block_bytes;             /* read at once */
  size_t piece_bytes;             /* fewest that a thread parses */
  const struct pd_tns_sink *sink; /* NULL: the nonzeros become a tensor */
  size_t turn_bytes; /* that a thread reads and parses at once (tns_turns.h); 0: none */
};
/** The same with other blocks than the usual ones: for tests. */
polyad_status pd_tns_read_blocks(polyad_context *context, struct pd_input *input,
                                 const polyad_read_options *options,
                                 const struct pd_tns_blocks *blocks, uint64_t declared,
                                 uint64_t lines, polyad_tensor **tensor);
polyad_status pd_tns_write(polyad_context *context, const polyad_tensor *tensor, const char *path);
/** What a comment that states the dims begins with; they follow, each behind a blank. */
#define PD_TNS_DIMS_COMMENT "# dims:"
/** Writes the line "# dims: I1 I2 ...", a comment for other readers, by which pd_tns_read() knows
 * the lengths of modes that end in empty slices. */
polyad_status pd_tns_write_dims(struct pd_output *output, int order, const uint64_t *dims);
/** Appends the nonzeros as lines, formatted in parallel. */
polyad_status pd_tns_write_lines(polyad_context *context, const polyad_tensor *tensor,
                                 struct pd_output *output);

/* Shares: what one of several processes reads (read_share.c) */

/** The lines that begin in an equal part of a plain file. */
polyad_status pd_tns_read_share(polyad_context *context, struct pd_input *input,
                                const polyad_read_options *options, polyad_tensor **tensor);
/** An equal part of the blocks of a .ptn file. */
polyad_status pd_ptn_read_share(polyad_context *context, const char *path,
                                const polyad_read_options *options, polyad_tensor **tensor);
/** What a share of a file that one process reads alone has for a mark. */
enum { PD_FILE_OF_ONE = 1 };
/** The share of a process that has none. */
polyad_status pd_share_of_nothing(polyad_context *context, const polyad_read_options *options,
                                  polyad_tensor **tensor);

/* Tensor Toolbox text */

/** Whether data begins with a word that Tensor Toolbox text begins with. */
bool pd_toolbox_recognise(const unsigned char *head, size_t size);
polyad_status pd_toolbox_read(polyad_context *context, const char *path, struct pd_input *input,
                              const polyad_read_options *options, polyad_tensor **tensor);
polyad_status pd_toolbox_write(polyad_context *context, const polyad_tensor *tensor,
                               const char *path);
polyad_status pd_toolbox_read_model(polyad_context *context, struct pd_input *input,
                                    struct pd_model_read *model);
polyad_status pd_toolbox_write_model(polyad_context *context, const struct pd_model *model,
                                     const char *path);

/* polyad's binary of a tensor: opens the file itself, because it is read in parallel at offsets;
 * from an input of which nothing was read it is read in order. */
bool pd_ptn_recognise(const unsigned char *head, size_t size);
polyad_status pd_ptn_read(polyad_context *context, const char *path, struct pd_input *input,
                          const polyad_read_options *options, polyad_tensor **tensor);
polyad_status pd_ptn_write(polyad_context *context, const polyad_tensor *tensor, const char *path);

/* polyad's binary of a model */
bool pd_ptm_recognise(const unsigned char *head, size_t size);
polyad_status pd_ptm_read(polyad_context *context, struct pd_input *input,
                          struct pd_model_read *model);
polyad_status pd_ptm_write(polyad_context *context, const struct pd_model *model, const char *path);

/* Delimited text with labels */
polyad_status pd_delimited_read(polyad_context *context, const char *path, struct pd_input *input,
                                const polyad_read_options *options, polyad_tensor **tensor);
polyad_status pd_delimited_write(polyad_context *context, const polyad_tensor *tensor,
                                 const char *path);
polyad_status pd_delimited_write_model(polyad_context *context, const struct pd_model *model,
                                       const char *path);

/* NumPy's arrays, of which a tensor is read, and archives of them */
bool pd_npy_recognise(const unsigned char *head, size_t size);
polyad_status pd_npy_read_tensor(polyad_context *context, const char *path, struct pd_input *input,
                                 const polyad_read_options *options, polyad_tensor **tensor);
bool pd_npz_recognise(const unsigned char *head, size_t size);
polyad_status pd_npz_read_tensor(polyad_context *context, const char *path, struct pd_input *input,
                                 const polyad_read_options *options, polyad_tensor **tensor);
polyad_status pd_npz_write(polyad_context *context, const polyad_tensor *tensor, const char *path);
polyad_status pd_npz_read_model(polyad_context *context, struct pd_input *input,
                                struct pd_model_read *model);
polyad_status pd_npz_write_model(polyad_context *context, const struct pd_model *model,
                                 const char *path);

/** As the new directory `path`. */
polyad_status pd_directory_write_model(polyad_context *context, const struct pd_model *model,
                                       const char *path);

/* JSON */
polyad_status pd_json_write_model(polyad_context *context, const struct pd_model *model,
                                  const char *path);

/** Reads the label files that belong to a tensor file, where there are any. */
polyad_status pd_labels_attach(polyad_context *context, const char *path,
                               const polyad_read_options *options, polyad_tensor *tensor);
/** Gives a model's outline the labels in a directory beside its file, where there are some. */
polyad_status pd_labels_attach_model(polyad_context *context, const char *directory,
                                     polyad_tensor *outline);
/** Writes label files beside a tensor file, when the tensor has labels; when it has none, warns of
 * label files that are there. */
polyad_status pd_labels_write(polyad_context *context, const polyad_tensor *tensor,
                              const char *path);
/** Writes label files beside a model's file (pd_labels_model_directory()), when the outline, which
 *  may be NULL, has labels; those of an earlier model of this name go. Labels that no file can hold
 *  are left out with a warning. */
polyad_status pd_labels_write_model(polyad_context *context, int order,
                                    const polyad_tensor *outline, const char *path);

#endif
