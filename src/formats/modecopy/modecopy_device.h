/* Copies of "modecopy" on a device of its own memory: building them there, and bringing them back.
 * Plain C that calls only the device's table: modules and the library have it both. */
#ifndef PD_MODECOPY_DEVICE_H
#define PD_MODECOPY_DEVICE_H

#include "device/build.h"
#include "formats/modecopy/modecopy_layout.h"

/** The arrays of one copy on the device. */
struct pd_modecopy_arrays {
  uint32_t *plane[POLYAD_MAX_ORDER];
  void *values;
  uint64_t *row_start;
  uint32_t *row_id, *chunk_row; /* row_id NULL: row k is output row k */
  uint32_t *marks, *ends;       /* see struct pd_build_tables */
  uint32_t *used;               /* NULL: all output rows have nonzeros */
};

/** A storage with the facts and orders of another, without arrays. */
void pd_modecopy_copy_header(const struct pd_modecopy *from, struct pd_modecopy *to);

/** Which bits of nonzeros are wanted. */
enum pd_modecopy_bits { PD_MODECOPY_MARKS, PD_MODECOPY_ENDS };

/** Whether the device can build the default variant of such a tensor, and the most bytes that takes
 *  there, a storage of `storage_bytes` included; 0: it cannot. */
uint64_t pd_modecopy_build_bytes(const struct pd_device *device, const struct pd_traits *traits,
                                 polyad_type type, uint64_t storage_bytes);

/** Builds every copy that the storage is to have, of the default variant, on the device: `storage`
 *  has its facts and gets the orders without arrays. What was allocated is in `arrays` also on
 * failure. Waits. */
polyad_status pd_modecopy_build_arrays(polyad_context *context, const struct pd_device *device,
                                       const polyad_tensor *tensor, const struct pd_traits *traits,
                                       const struct pd_request *request, enum pd_modecopy_bits bits,
                                       struct pd_modecopy *storage,
                                       struct pd_modecopy_arrays arrays[POLYAD_MAX_ORDER]);
/** The same from a tensor that the device has already. */
polyad_status pd_modecopy_build_opened(polyad_context *context, const struct pd_device *device,
                                       struct pd_build *build, const struct pd_traits *traits,
                                       const struct pd_request *request, enum pd_modecopy_bits bits,
                                       struct pd_modecopy *storage,
                                       struct pd_modecopy_arrays arrays[POLYAD_MAX_ORDER]);

#endif
