/* Decodes the nonzeros of a copy: packed indices of the inputs, and the output's row
 * from the table of rows (default variant) or from a field of its own (the paper's variants). */
#include "formats/modecopy/modecopy_build.h"
#include <string.h>

static void decode_rows(const struct pd_ordered *order, uint64_t first, int count,
                        uint64_t *index) {
  uint64_t row = order->chunk_row[first / PD_ORDERED_CHUNK];
  for (int k = 0; k < count; ++row) {
    const uint64_t after = order->row_start[row + 1],
                   id = order->row_id != NULL ? order->row_id[row] : row;
    for (; k < count && first + (uint64_t)k < after; ++k)
      index[k] = id;
  }
}

/* Everything that a loop needs is in registers: these loops are vectorised. */
static void modecopy_decode_field(const uint32_t *restrict words, uint32_t shift, uint32_t mask,
                                  int count, uint64_t *restrict index) {
  for (int k = 0; k < count; ++k)
    index[k] = (words[k] >> shift) & mask;
}

void pd_modecopy_decode_copy(const struct pd_modecopy *storage, int mode, uint64_t first, int count,
                             struct pd_chunk *chunk) {
  const struct pd_modecopy_copy *copy = &storage->copy[mode];
  bool sorted = storage->variant == PD_MODECOPY_SORTED;
  int fields = sorted ? copy->inputs : copy->inputs + 1;
  for (int f = 0; f < fields; ++f) {
    const struct pd_modecopy_field *field = &copy->field[f];
    modecopy_decode_field(copy->plane[field->plane] + first, (uint32_t)field->shift, field->mask,
                          count, chunk->index[field->mode]);
  }
  if (sorted) decode_rows(&copy->order, first, count, chunk->index[mode]);
  if (storage->type == POLYAD_F64)
    memcpy(chunk->value, (const double *)copy->values + first, (size_t)count * sizeof(double));
  else
    for (int k = 0; k < count; ++k)
      chunk->value[k] = (double)((const float *)copy->values)[first + (uint64_t)k];
}

void pd_modecopy_decode(const void *storage, uint64_t first, int count, struct pd_chunk *chunk) {
  pd_modecopy_decode_copy(storage, 0, first, count, chunk);
}
