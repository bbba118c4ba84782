/* Nonzeros as they arrive from a reader: chunks of indices and values, joined into a tensor at
 * the end without ever holding two copies of everything. */
#ifndef PD_COORDINATES_H
#define PD_COORDINATES_H

#include "tensor/tensor.h"

/** Nonzeros in a row: structure of arrays. */
struct pd_coordinates_chunk {
  struct pd_coordinates_chunk *next;
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
  int index_bytes;                    /* of new chunks: 4, or 8 once an index needs it */
  uint64_t expected;                  /* guess of how many there will be; 0: none */
  uint64_t count;                     /* how many there are */
  uint64_t largest[POLYAD_MAX_ORDER]; /* index of each mode */
  struct pd_coordinates_chunk *first, *last;
};

/** The last chunk, with room for `needed` more nonzeros: a new one where there
 *  is no such room, larger the more there are already. The caller writes behind its `count`. */
polyad_status pd_coordinates_room(struct pd_coordinates *coordinates, uint64_t needed,
                                  struct pd_coordinates_chunk **chunk);
/** Counts `count` nonzeros that were written into the last chunk. */
void pd_coordinates_add(struct pd_coordinates *coordinates, uint64_t count);
/** Makes a tensor of everything; the list is empty afterwards, also on failure. `dims` NULL:
 *  largest index + 1 of each mode. */
polyad_status pd_coordinates_finish(struct pd_coordinates *coordinates, const uint64_t *dims,
                                    polyad_duplicates duplicates, polyad_zeros zeros,
                                    polyad_tensor **tensor);
/** Frees all chunks. */
void pd_coordinates_clear(struct pd_coordinates *coordinates);

#endif
