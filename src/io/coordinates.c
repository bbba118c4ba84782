#include "io/coordinates.h"
#include <string.h>

polyad_status pd_chunk_create(polyad_context *context, int order, polyad_type type, uint64_t room,
                              int index_bytes, struct pd_chunk **out) {
  struct pd_chunk *chunk = NULL;
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &chunk));
  chunk->room = room;
  chunk->index_bytes = index_bytes;
  polyad_status status = pd_alloc(context, room, pd_type_bytes(type), &chunk->values);
  for (int n = 0; n < order && status == POLYAD_OK; ++n)
    status = pd_alloc(context, room, (size_t)index_bytes, &chunk->index[n]);
  if (status != POLYAD_OK) {
    pd_chunk_destroy(context, chunk, order);
    return status;
  }
  *out = chunk;
  return POLYAD_OK;
}

void pd_chunk_destroy(polyad_context *context, struct pd_chunk *chunk, int order) {
  if (chunk == NULL) return;
  for (int n = 0; n < order; ++n)
    pd_free(context, chunk->index[n]);
  pd_free(context, chunk->values);
  pd_free(context, chunk);
}

void pd_coordinates_append(struct pd_coordinates *c, struct pd_chunk *chunk) {
  chunk->next = NULL;
  if (c->last == NULL)
    c->first = chunk;
  else
    c->last->next = chunk;
  c->last = chunk;
  c->count += chunk->count;
}

void pd_coordinates_clear(struct pd_coordinates *c) {
  while (c->first != NULL) {
    struct pd_chunk *next = c->first->next;
    pd_chunk_destroy(c->context, c->first, c->order);
    c->first = next;
  }
  c->last = NULL;
  c->count = 0;
}

static void copy_indices(const struct pd_chunk *chunk, int mode, void *to, int bytes, uint64_t at) {
  if (chunk->index_bytes == bytes) {
    memcpy((char *)to + at * (uint64_t)bytes, chunk->index[mode],
           (size_t)(chunk->count * (uint64_t)bytes));
    return;
  }
  for (uint64_t p = 0; p < chunk->count; ++p) {
    if (bytes == 4)
      ((uint32_t *)to)[at + p] = (uint32_t)((const uint64_t *)chunk->index[mode])[p];
    else
      ((uint64_t *)to)[at + p] = ((const uint32_t *)chunk->index[mode])[p];
  }
}

/* Moves the chunks into whole arrays, column by column and freeing as it goes: pages of the
 * arrays become real only when they are written, so both copies never exist at once. */
static polyad_status join(struct pd_coordinates *c, const uint64_t *dims, void **index,
                          void **values) {
  size_t value_bytes = pd_type_bytes(c->type);
  for (int n = 0; n <= c->order; ++n) {
    bool last = n == c->order;
    int bytes = last ? (int)value_bytes : pd_index_bytes(dims[n]);
    void **array = last ? values : &index[n];
    PD_TRY(pd_alloc(c->context, c->count, (size_t)bytes, array));
    uint64_t at = 0;
    for (struct pd_chunk *chunk = c->first; chunk != NULL; chunk = chunk->next) {
      if (last)
        memcpy((char *)*array + at * value_bytes, chunk->values,
               (size_t)chunk->count * value_bytes);
      else
        copy_indices(chunk, n, *array, bytes, at);
      at += chunk->count;
      pd_free(c->context, last ? chunk->values : chunk->index[n]);
      if (last)
        chunk->values = NULL;
      else
        chunk->index[n] = NULL;
    }
  }
  return POLYAD_OK;
}

polyad_status pd_coordinates_finish(struct pd_coordinates *c, const uint64_t *dims,
                                    polyad_duplicates duplicates, polyad_tensor **tensor) {
  uint64_t inferred[POLYAD_MAX_ORDER];
  void *index[POLYAD_MAX_ORDER] = {NULL}, *values = NULL;
  for (int n = 0; n < c->order; ++n)
    inferred[n] = dims != NULL ? dims[n] : c->largest[n] + 1;
  polyad_status status = join(c, inferred, index, &values);
  uint64_t count = c->count;
  pd_coordinates_clear(c);
  if (status == POLYAD_OK)
    status = pd_tensor_create_take(c->context, c->order, inferred, count, c->type, index, &values,
                                   duplicates, tensor);
  for (int n = 0; n < c->order; ++n)
    pd_free(c->context, index[n]);
  pd_free(c->context, values);
  return status;
}
