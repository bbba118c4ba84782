/* Decodes the nonzeros of a copy: packed indices of the inputs, and the output's row
 * from the table of rows (default variant) or from a field of its own (the paper's variants). */
#include "formats/modecopy/modecopy_build.h"

static void decode_rows(const struct pd_ordered *order, uint64_t first, int count,
                        uint64_t *index) {
  uint64_t row = order->chunk_row[first / PD_ORDERED_CHUNK];
  for (int k = 0; k < count; ++k) {
    while (order->row_start[row + 1] <= first + (uint64_t)k)
      ++row;
    index[k] = order->row_id != NULL ? order->row_id[row] : row;
  }
}

void pd_modecopy_decode_copy(const struct pd_modecopy *storage, int mode, uint64_t first, int count,
                             struct pd_chunk *chunk) {
  const struct pd_modecopy_copy *copy = &storage->copy[mode];
  bool sorted = storage->variant == PD_MODECOPY_SORTED;
  int fields = sorted ? copy->inputs : copy->inputs + 1;
  for (int f = 0; f < fields; ++f)
    for (int k = 0; k < count; ++k)
      chunk->index[copy->field[f].mode][k] = pd_modecopy_index(copy, f, first + (uint64_t)k);
  if (sorted) decode_rows(&copy->order, first, count, chunk->index[mode]);
  for (int k = 0; k < count; ++k)
    chunk->value[k] = storage->type == POLYAD_F32
                          ? (double)((const float *)copy->values)[first + (uint64_t)k]
                          : ((const double *)copy->values)[first + (uint64_t)k];
}

void pd_modecopy_decode(const void *storage, uint64_t first, int count, struct pd_chunk *chunk) {
  pd_modecopy_decode_copy(storage, 0, first, count, chunk);
}
