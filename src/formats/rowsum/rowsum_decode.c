/* Decodes the nonzeros of a sorted list: the row from the run that a nonzero lies in, the other
 * indices and the value from their arrays, one array after the other. */
#include "core/numbers.h"
#include "formats/rowsum/driver.h"
#include "formats/rowsum/rowsum_build.h"
#include <string.h>

/* to[k] = ids[first + k]. */
static void read_ids(const void *ids, int bytes, uint64_t first, int count, uint64_t *restrict to) {
  if (bytes == 2)
    for (int k = 0; k < count; ++k)
      to[k] = ((const uint16_t *)ids)[first + (uint64_t)k];
  else if (bytes == 4)
    for (int k = 0; k < count; ++k)
      to[k] = ((const uint32_t *)ids)[first + (uint64_t)k];
  else
    memcpy(to, (const uint64_t *)ids + first, (size_t)count * sizeof *to);
}

static void read_values(polyad_type type, const void *values, uint64_t first, int count,
                        double *restrict to) {
  if (type == POLYAD_F32)
    for (int k = 0; k < count; ++k)
      to[k] = (double)((const float *)values)[first + (uint64_t)k];
  else
    memcpy(to, (const double *)values + first, (size_t)count * sizeof *to);
}

static void read_rows(const struct pd_rowsum *list, uint64_t first, int count, uint64_t *row) {
  uint64_t run = pd_rowsum_run_of(list, first), end = first + (uint64_t)count;
  for (uint64_t p = first; p < end; ++run) {
    uint64_t id = pd_rowsum_row(list, run), stop = pd_rowsum_start(list, run + 1);
    for (stop = stop < end ? stop : end; p < stop; ++p)
      row[p - first] = id;
  }
}

void pd_rowsum_decode(const struct pd_rowsum *list, int mode, polyad_type type, uint64_t first,
                      int count, struct pd_chunk *chunk) {
  read_rows(list, first, count, chunk->index[mode]);
  if (list->place == NULL) {
    for (int c = 0; c < list->columns; ++c)
      read_ids(list->id[c], list->id_bytes[c], first, count, chunk->index[list->mode[c]]);
    read_values(type, list->values, first, count, chunk->value);
    return;
  }
  for (int k = 0; k < count; ++k) {
    uint64_t place = pd_rowsum_place(list, first + (uint64_t)k);
    for (int c = 0; c < list->columns; ++c)
      chunk->index[list->mode[c]][k] = pd_id_at(list->id[c], list->id_bytes[c], place);
    chunk->value[k] = pd_load(type, list->values, place);
  }
}
