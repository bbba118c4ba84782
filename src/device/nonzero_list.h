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
  /* Of one that is filled again and again: room for so many nonzeros, in memory that belongs to
     somebody else, and where they are decoded on the host. */
  uint64_t room;
  void *host_index[POLYAD_MAX_ORDER], *host_values;
};

/** Decodes into memory of the host, one array after the other, and copies it to the device. */
polyad_status pd_list_create(polyad_context *context, const struct pd_device *device,
                             const struct pd_nonzeros *nonzeros, struct pd_list **list);
/** A list of up to `most` nonzeros of this shape, or of as many as `bytes` of the device's memory
 *  hold, for pd_list_refill(). */
polyad_status pd_list_create_within(polyad_context *context, const struct pd_device *device,
                                    const struct pd_nonzeros *shape, uint64_t most, void *memory,
                                    uint64_t bytes, struct pd_list **list);
/** Replaces what is in the list, of which `nonzeros` has no more than there is room for. Waits. */
polyad_status pd_list_refill(polyad_context *context, struct pd_list *list,
                             const struct pd_nonzeros *nonzeros);
/** NULL is fine. */
void pd_list_destroy(polyad_context *context, struct pd_list *list);

#endif
