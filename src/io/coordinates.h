/* Nonzeros as they arrive from a reader: chunks of indices and values, joined into a tensor at
 * the end without ever holding two copies of everything. */
#ifndef PD_COORDINATES_H
#define PD_COORDINATES_H

#include "tensor/tensor.h"

/** Nonzeros in a row: structure of arrays. */
struct pd_chunk {
  struct pd_chunk *next;
  uint64_t count; /* used */
  uint64_t room;
  int index_bytes; /* 4 or 8, the same for all modes */
  void *index[POLYAD_MAX_ORDER];
  void *values;
};

struct pd_coordinates {
  polyad_context *context;
  int order;
  polyad_type type;
  uint64_t count;
  uint64_t largest[POLYAD_MAX_ORDER]; /* index of each mode */
  struct pd_chunk *first, *last;
};

/** Allocates a chunk (not yet part of the list). */
polyad_status pd_chunk_create(polyad_context *context, int order, polyad_type type, uint64_t room,
                              int index_bytes, struct pd_chunk **chunk);
void pd_chunk_destroy(polyad_context *context, struct pd_chunk *chunk, int order);
/** Appends a chunk, which the list then owns. */
void pd_coordinates_append(struct pd_coordinates *coordinates, struct pd_chunk *chunk);
/** Makes a tensor of everything; the list is empty afterwards, also on failure. `dims` NULL:
 *  largest index + 1 of each mode. */
polyad_status pd_coordinates_finish(struct pd_coordinates *coordinates, const uint64_t *dims,
                                    polyad_duplicates duplicates, polyad_tensor **tensor);
/** Frees all chunks. */
void pd_coordinates_clear(struct pd_coordinates *coordinates);

static inline uint64_t pd_chunk_index(const struct pd_chunk *chunk, int mode, uint64_t p) {
  return chunk->index_bytes == 4 ? ((const uint32_t *)chunk->index[mode])[p]
                                 : ((const uint64_t *)chunk->index[mode])[p];
}

#endif
