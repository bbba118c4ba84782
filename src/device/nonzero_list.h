/* Nonzeros on a device: coordinates and values side by side, in the order in which a storage
 * decodes them. What sums residuals on a device of its own memory reads them. */
#ifndef PD_NONZERO_LIST_H
#define PD_NONZERO_LIST_H

#include "device/device.h"
#include "tensor/chunk.h"

struct pd_list {
  const struct pd_device *device;
  int order;
  uint64_t nnz;
  polyad_type type;                  /* of the values */
  int index_bytes[POLYAD_MAX_ORDER]; /* 4 or 8 */
  void *index[POLYAD_MAX_ORDER];     /* nnz numbers each */
  void *values;
  bool goes_on; /* sums over it are added to those over the list before */
};

/** Decodes into memory of the host, one array after the other, and copies it to the device. */
polyad_status pd_list_create(polyad_context *context, const struct pd_device *device,
                             const struct pd_nonzeros *nonzeros, struct pd_list **list);
/** NULL is fine. */
void pd_list_destroy(polyad_context *context, struct pd_list *list);

#endif
