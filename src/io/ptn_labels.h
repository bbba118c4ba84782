/* The section of a .ptn file with names of modes and labels of indices. */
#ifndef PD_PTN_LABELS_H
#define PD_PTN_LABELS_H

#include "tensor/tensor.h"

/** Bytes of the section; 0 when the tensor (NULL: none) has neither names nor labels. */
uint64_t pd_ptn_labels_bytes(const polyad_tensor *tensor);

/** Writes the section into `out`, which has pd_ptn_labels_bytes() bytes. */
void pd_ptn_labels_encode(const polyad_tensor *tensor, void *out);

/** Proves the section and gives names and labels to the tensor. `offset`: the section's place in
 *  the file, for messages. */
polyad_status pd_ptn_labels_decode(polyad_context *context, const char *path, uint64_t offset,
                                   const void *section, uint64_t bytes, polyad_tensor *tensor);

#endif
