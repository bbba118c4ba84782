/* Packing of elements: no bit between the fields. */
#include "formats/flycoo/flycoo_layout.h"

static struct pd_flycoo_field next_field(int *at, int bits) {
  struct pd_flycoo_field field = {*at / 32, *at % 32, bits};
  *at += bits;
  return field;
}

void pd_flycoo_pack(int order, const uint64_t *dims, uint64_t nnz, polyad_type type,
                    struct pd_flycoo_packing *packing) {
  int at = type == POLYAD_F32 ? 32 : 64;
  *packing = (struct pd_flycoo_packing){.order = order};
  for (int n = 0; n < order; ++n)
    packing->index[n] = next_field(&at, pd_index_bits(dims[n]));
  for (int n = 0; n < order; ++n)
    packing->remap[n] = next_field(&at, pd_index_bits(nnz == 0 ? 1 : nnz));
  packing->bits = at;
  packing->words = (at + 31) / 32;
  /* An empty field at the very end would name a word that does not exist. */
  for (int n = 0; n < order; ++n) {
    if (packing->index[n].bits == 0) packing->index[n].word = packing->index[n].shift = 0;
    if (packing->remap[n].bits == 0) packing->remap[n].word = packing->remap[n].shift = 0;
  }
}
