/* Nonzeros as readers of a storage see them, whatever the format: some at a time, decoded. */
#ifndef PD_CHUNK_H
#define PD_CHUNK_H

#include "core/core.h"
#include <polyad/tensor.h>

enum { PD_CHUNK = 128 };

/** Up to PD_CHUNK nonzeros. */
struct pd_chunk {
  uint64_t index[POLYAD_MAX_ORDER][PD_CHUNK]; /* of each mode of the tensor */
  double value[PD_CHUNK];
};

/** Fills a chunk with the nonzeros [first, first + count) of a storage, in the storage's own order;
 *  count is 1 to PD_CHUNK. Every nonzero has one place. Threads may decode at once. */
typedef void (*pd_decode_function)(const void *storage, uint64_t first, int count,
                                   struct pd_chunk *chunk);

/** All nonzeros of a storage. */
struct pd_nonzeros {
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nnz;
  polyad_type type;
  const void *storage;
  pd_decode_function decode;
  /** Fails where `decode` has met nonzeros that could not be read: to be asked when all are done.
   *  NULL: they lie in memory. */
  polyad_status (*readable)(polyad_context *context, const void *storage);
  polyad_zeros zeros; /* of tensors made from them: whether some are zeros that are kept */
};

/** Asks `readable`. */
static inline polyad_status pd_nonzeros_check(polyad_context *context,
                                              const struct pd_nonzeros *nonzeros) {
  return nonzeros->readable == NULL ? POLYAD_OK : nonzeros->readable(context, nonzeros->storage);
}

/** Nonzeros from `first` on that fit into one chunk. */
static inline int pd_chunk_count(uint64_t first, uint64_t end) {
  return end - first < PD_CHUNK ? (int)(end - first) : PD_CHUNK;
}

/** Some of them, from `first` on. */
struct pd_nonzeros_window {
  const struct pd_nonzeros *all;
  uint64_t first;
};
static inline void pd_nonzeros_window_decode(const void *storage, uint64_t first, int count,
                                             struct pd_chunk *chunk) {
  const struct pd_nonzeros_window *window = storage;
  window->all->decode(window->all->storage, window->first + first, count, chunk);
}
/** As nonzeros of their own, which use the window. Whether they could be read is asked of all. */
static inline struct pd_nonzeros pd_nonzeros_some(const struct pd_nonzeros_window *window,
                                                  uint64_t count) {
  struct pd_nonzeros some = *window->all;
  some.nnz = count;
  some.storage = window;
  some.decode = pd_nonzeros_window_decode;
  some.readable = NULL;
  return some;
}

/** Decodes all into arrays that have room for them; index[n] is of pd_index_bytes() each. */
polyad_status pd_nonzeros_decode(polyad_context *context, const struct pd_nonzeros *nonzeros,
                                 void **index, void *values);
/** Decodes all of them into new arrays: index[n] of pd_index_bytes(dims[n]) bytes each, and values
 *  of the type; pd_free() frees them. What was allocated is there also on failure. */
polyad_status pd_nonzeros_to_arrays(polyad_context *context, const struct pd_nonzeros *nonzeros,
                                    void **index, void **values);
/** Makes the tensor that has these nonzeros, sorted as every tensor is, without labels.
 *  @return POLYAD_INTERNAL when two have the same coordinates, POLYAD_OUT_OF_MEMORY */
polyad_status pd_nonzeros_to_tensor(polyad_context *context, const struct pd_nonzeros *nonzeros,
                                    polyad_tensor **tensor);
#endif
