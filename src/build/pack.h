/* Packing nonzeros into records, a block at a time. */
#ifndef PD_PACK_H
#define PD_PACK_H

#include "build/records.h"

/** Words of a block of records: word[w][p] is word w of record p. */
struct pd_packed {
  uint64_t word[PD_RECORD_WORDS_MAX][PD_PACK_BLOCK];
};

/** Packs nonzeros [first, first + count), count at most PD_PACK_BLOCK. */
void pd_pack(const struct pd_record_source *source, const struct pd_layout *layout, uint64_t first,
             uint64_t count, struct pd_packed *packed);
/** The first word alone, of which the highest `bits` bits are right. */
void pd_pack_head(const struct pd_record_source *source, const struct pd_layout *layout, int bits,
                  uint64_t first, uint64_t count, struct pd_packed *packed);

#endif
