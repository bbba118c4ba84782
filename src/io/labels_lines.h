/* The lines of a text file as labels. */
#ifndef PD_LABELS_LINES_H
#define PD_LABELS_LINES_H

#include "tensor/tensor.h"

/** Reads a file (perhaps compressed) of exactly `count` lines, each the label of an index. The
 *  message of another number names the file and both. */
polyad_status pd_labels_read_lines(polyad_context *context, const char *path, int mode,
                                   uint64_t count, struct pd_labels *labels);

#endif
