/* Storages as a header and the arrays that it points to: freeing them, and moving them between the
 * host and a device with memory of its own. On such a device a storage is a copy of the header,
 * which the host reads, whose pointers lead to the device's memory. */
#ifndef PD_STORAGE_H
#define PD_STORAGE_H

#include "formats/format.h"

/** Who needs an array. */
enum pd_array_use {
  PD_ARRAY_HOST,    /* the CPU's kernels alone: it does not move */
  PD_ARRAY_MOVES,   /* kernels of devices */
  PD_ARRAY_DECODED, /* they, and the format's decode() */
  PD_ARRAY_STREAMED /* they too, but from the host's memory, where it stays for them */
};

/** What is done to every array that a format shows. */
struct pd_arrays {
  void (*visit)(struct pd_arrays *arrays, void **data, uint64_t bytes, enum pd_array_use use);
  polyad_context *context;
  const struct pd_device *device;
  bool whole;
  uint64_t bytes;
  polyad_status status;
};

/** Shows an array of a storage: `pointer` is where the storage keeps its address. */
static inline void pd_show_array(struct pd_arrays *arrays, void *pointer, uint64_t count,
                                 size_t size, enum pd_array_use use) {
  arrays->visit(arrays, pointer, pd_mul_saturated(count, size), use);
}

/** What frees the arrays that are shown to it. */
struct pd_arrays pd_arrays_freeing(polyad_context *context);
/** Frees the arrays that lie on a device too. */
void pd_storage_shed(polyad_context *context, const struct polyad_format *format, void *storage);

/** The header of a storage on a device, without arrays: what describe() of the format and the
 *  functions above need. */
polyad_status pd_storage_header(polyad_context *context, const struct polyad_format *format,
                                const void *on_device, void **storage);
/** Copies a storage to a device. */
polyad_status pd_storage_put(polyad_context *context, const struct polyad_format *format,
                             const struct pd_device *device, const void *storage, void **on_device);
/** Copies one back: `whole`, or no more than the format's decode() reads. */
polyad_status pd_storage_bring(polyad_context *context, const struct polyad_format *format,
                               const struct pd_device *device, const void *on_device, bool whole,
                               void **storage);
/** Frees what lies on the device. NULL is fine. */
void pd_storage_release(polyad_context *context, const struct polyad_format *format,
                        const struct pd_device *device, void *on_device);

#endif
