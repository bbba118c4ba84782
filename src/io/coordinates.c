#include "io/coordinates.h"
#include <string.h>

enum { COPY_GRAIN = 1 << 16 };

static void destroy_chunk(polyad_context *context, struct pd_coordinates_chunk *chunk, int order) {
  if (chunk == NULL) return;
  for (int n = 0; n < order; ++n)
    pd_free(context, chunk->index[n]);
  PD_FREE(context, chunk->values, chunk);
}

static polyad_status create_chunk(const struct pd_coordinates *c, uint64_t room,
                                  struct pd_coordinates_chunk **out) {
  struct pd_coordinates_chunk *chunk = NULL;
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(c->context, 1, &chunk));
  chunk->room = room;
  chunk->index_bytes = c->index_bytes;
  polyad_status status = pd_alloc(c->context, room, pd_type_bytes(c->type), &chunk->values);
  for (int n = 0; n < c->order && status == POLYAD_OK; ++n)
    status = pd_alloc(c->context, room, (size_t)c->index_bytes, &chunk->index[n]);
  if (status != POLYAD_OK) {
    destroy_chunk(c->context, chunk, c->order);
    return status;
  }
  *out = chunk;
  return POLYAD_OK;
}

/* Few large chunks are faster than many small ones, but memory for nonzeros that may never come
 * must not stand in the way of those that do. */
static uint64_t room_of_chunk(const struct pd_coordinates *c, uint64_t needed) {
  uint64_t room = c->count / 2;
  if (c->expected > c->count && c->expected - c->count > room) room = c->expected - c->count;
  uint64_t limit = polyad_memory_limit(c->context), used = polyad_memory_in_use(c->context);
  uint64_t bytes = (uint64_t)(c->order * c->index_bytes) + pd_type_bytes(c->type);
  uint64_t affordable = limit > used ? (limit - used) / 4 / bytes : 0;
  if (room > affordable) room = affordable;
  return room > needed ? room : needed;
}

polyad_status pd_coordinates_room(struct pd_coordinates *c, uint64_t needed,
                                  struct pd_coordinates_chunk **out) {
  struct pd_coordinates_chunk *chunk = c->last;
  if (chunk == NULL || chunk->index_bytes != c->index_bytes ||
      chunk->room - chunk->count < needed) {
    PD_TRY(create_chunk(c, room_of_chunk(c, needed), &chunk));
    if (c->last == NULL)
      c->first = chunk;
    else
      c->last->next = chunk;
    c->last = chunk;
  }
  *out = chunk;
  return POLYAD_OK;
}

void pd_coordinates_add(struct pd_coordinates *c, uint64_t count) {
  c->last->count += count;
  c->count += count;
}

void pd_coordinates_clear(struct pd_coordinates *c) {
  while (c->first != NULL) {
    struct pd_coordinates_chunk *next = c->first->next;
    destroy_chunk(c->context, c->first, c->order);
    c->first = next;
  }
  c->last = NULL;
  c->count = 0;
}

static void coordinates_copy_indices(const struct pd_coordinates_chunk *chunk, int mode,
                                     uint64_t from, uint64_t count, void *to, int bytes,
                                     uint64_t at) {
  const uint32_t *narrow = chunk->index[mode];
  const uint64_t *wide = chunk->index[mode];
  uint32_t *narrow_to = to;
  uint64_t *wide_to = to;
  if (chunk->index_bytes == bytes)
    memcpy((char *)to + at * (uint64_t)bytes,
           (const char *)chunk->index[mode] + from * (uint64_t)bytes,
           (size_t)(count * (uint64_t)bytes));
  else if (bytes == 4)
    for (uint64_t p = 0; p < count; ++p)
      narrow_to[at + p] = (uint32_t)wide[from + p];
  else
    for (uint64_t p = 0; p < count; ++p)
      wide_to[at + p] = narrow[from + p];
}

/* Nonzeros begin to end of one column (mode `order`: the values). */
static void coordinates_copy_column(const struct pd_coordinates *c, int mode, uint64_t begin,
                                    uint64_t end, void *to, int bytes) {
  uint64_t at = 0;
  for (const struct pd_coordinates_chunk *chunk = c->first; chunk != NULL && at < end;
       chunk = chunk->next) {
    uint64_t from = begin > at ? begin - at : 0;
    uint64_t stop = end - at < chunk->count ? end - at : chunk->count;
    size_t size = (size_t)bytes;
    if (from < stop && mode < c->order)
      coordinates_copy_indices(chunk, mode, from, stop - from, to, bytes, at + from);
    else if (from < stop)
      memcpy((char *)to + (at + from) * size, (const char *)chunk->values + from * size,
             (size_t)(stop - from) * size);
    at += chunk->count;
  }
}

/* The whole column as one array, and the chunks' parts of it freed: pages of the array become
 * real only when they are written, so both copies never exist at once. */
static polyad_status join_column(struct pd_coordinates *c, int mode, int bytes, void **array) {
  struct pd_coordinates_chunk *only = c->first != NULL && c->first->next == NULL ? c->first : NULL;
  bool values = mode == c->order;
  if (only != NULL && only->room - only->count <= only->count / 8 &&
      (values || only->index_bytes == bytes)) {
    void **column = values ? &only->values : &only->index[mode];
    *array = *column;
    *column = NULL;
    return POLYAD_OK;
  }
  PD_TRY(pd_alloc(c->context, c->count, (size_t)bytes, array));
  int threads = pd_threads_for(c->context, c->count, COPY_GRAIN);
  void *to = *array;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    coordinates_copy_column(c, mode, pd_part_begin(c->count, t, threads),
                            pd_part_begin(c->count, t + 1, threads), to, bytes);
  for (struct pd_coordinates_chunk *chunk = c->first; chunk != NULL; chunk = chunk->next) {
    void **column = values ? &chunk->values : &chunk->index[mode];
    pd_free(c->context, *column);
    *column = NULL;
  }
  return POLYAD_OK;
}

polyad_status pd_coordinates_finish(struct pd_coordinates *c, const uint64_t *dims,
                                    polyad_duplicates duplicates, polyad_zeros zeros,
                                    polyad_tensor **tensor) {
  uint64_t lengths[POLYAD_MAX_ORDER], count = c->count;
  void *index[POLYAD_MAX_ORDER] = {NULL}, *values = NULL;
  polyad_status status = join_column(c, c->order, (int)pd_type_bytes(c->type), &values);
  for (int n = 0; n < c->order && status == POLYAD_OK; ++n) {
    lengths[n] = dims != NULL ? dims[n] : c->largest[n] + 1;
    status = join_column(c, n, pd_index_bytes(lengths[n]), &index[n]);
  }
  pd_coordinates_clear(c);
  if (status == POLYAD_OK)
    status = pd_tensor_create_take(c->context, c->order, lengths, count, c->type, index, &values,
                                   duplicates, zeros, tensor);
  for (int n = 0; n < c->order; ++n)
    pd_free(c->context, index[n]);
  pd_free(c->context, values);
  return status;
}
