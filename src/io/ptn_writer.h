/* Writes a .ptn file whose nonzeros come piece by piece, in order, so that the tensor need not
 * fit in memory. The file is the same as the one pd_ptn_write() makes. */
#ifndef PD_PTN_WRITER_H
#define PD_PTN_WRITER_H

#include "io/spill.h"
#include "tensor/tensor.h"

struct pd_ptn_writer;

/** Opens a file for exactly `nnz` nonzeros. Not for pipes: the checksums come last but are
 *  needed in the header. */
polyad_status pd_ptn_writer_open(polyad_context *context, const char *path, int order,
                                 const uint64_t *dims, uint64_t nnz, polyad_type type,
                                 struct pd_ptn_writer **writer);

/** The same into a spill file, for at most `nnz` nonzeros. */
polyad_status pd_ptn_writer_open_spill(polyad_context *context, const struct pd_spill *spill,
                                       int order, const uint64_t *dims, uint64_t nnz,
                                       polyad_type type, struct pd_ptn_writer **writer);

/** Appends `count` nonzeros: one array of pd_index_bytes(dims[n]) bytes per mode, and values.
 *  All of the file together are sorted, distinct, within dims, finite and not zero: debug builds
 *  assert it, readers verify it. */
polyad_status pd_ptn_writer_put(struct pd_ptn_writer *writer, uint64_t count,
                                const void *const *index, const void *values);

/** Finishes and renames a file into place. Frees the writer, also on failure. Fewer or more
 *  nonzeros than announced are an error; of a spill file only more. */
polyad_status pd_ptn_writer_close(struct pd_ptn_writer *writer);

/** Gives up and removes what was written; NULL is fine. */
void pd_ptn_writer_abort(struct pd_ptn_writer *writer);

#endif
