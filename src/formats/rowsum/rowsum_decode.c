/* Decodes the nonzeros of a sorted list: the row from the run that a nonzero lies in, the other
 * indices and the value from their arrays. */
#include "core/numbers.h"
#include "formats/rowsum/driver.h"
#include "formats/rowsum/rowsum_build.h"

void pd_rowsum_decode(const struct pd_rowsum *list, int mode, polyad_type type, uint64_t first,
                      int count, struct pd_chunk *chunk) {
  uint64_t run = pd_rowsum_run_of(list, first);
  for (int k = 0; k < count; ++k) {
    uint64_t p = first + (uint64_t)k, place = pd_rowsum_place(list, p);
    while (pd_rowsum_start(list, run + 1) <= p)
      ++run;
    chunk->index[mode][k] = pd_rowsum_row(list, run);
    for (int c = 0; c < list->columns; ++c)
      chunk->index[list->mode[c]][k] = pd_id_at(list->id[c], list->id_bytes[c], place);
    chunk->value[k] = pd_load(type, list->values, place);
  }
}
