/* The nonzeros of a file block by block, for those that do not hold all of them: a .ptn file is
 * read where it lies; text of indices is sorted into a packed copy without a name first, which
 * later passes read many times as fast as text. */
#ifndef PD_PACKED_FILE_H
#define PD_PACKED_FILE_H

#include "io/ptn_blocks.h"
#include <polyad/io.h>

/** Opens a file. `options->type` is that of the values of a packed copy, which lies in `directory`.
 *  `path` and `directory` are the caller's and live as long.
 *  @return POLYAD_UNSUPPORTED for other files, and where options keep zeros */
polyad_status pd_packed_file_open(polyad_context *context, const char *path,
                                  const polyad_read_options *options, const char *directory,
                                  struct pd_ptn_blocks *blocks);

/** What is known of the nonzeros of a file before they are read. */
struct pd_packed_estimate {
  bool text, compressed;
  int order;    /* 0: not known */
  uint64_t nnz; /* of text an estimate; 0: not known */
};
/** Looks at a regular file of text, plain or compressed. Whatever is wrong with it is left to
 *  those who read it: nothing is known of it then. */
polyad_status pd_packed_file_estimate(polyad_context *context, const char *path,
                                      const polyad_read_options *options,
                                      struct pd_packed_estimate *estimate);

#endif
