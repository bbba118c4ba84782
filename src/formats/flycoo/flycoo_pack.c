/* Packing of elements: no bit between the fields. What a later mode needs comes before what only
 * an earlier one does, so that a copy in its order may keep the first words alone. */
#include "formats/flycoo/flycoo_layout.h"

void pd_flycoo_read_variant(const char *name, struct pd_flycoo *storage) {
  storage->sorted = strncmp(name, "paper", 5) != 0;
  storage->cyclic = strstr(name, "cyclic") != NULL;
  storage->dealt = !storage->sorted || storage->cyclic;
  storage->remap = strstr(name, "no-remap") == NULL;
}

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
  for (int n = order - 1; n >= 0; --n)
    packing->remap[n] = next_field(&at, pd_index_bits(nnz == 0 ? 1 : nnz));
  packing->bits = at;
  packing->words = (at + 31) / 32;
  /* An empty field at the very end would name a word that does not exist. */
  for (int n = 0; n < order; ++n) {
    if (packing->index[n].bits == 0) packing->index[n].word = packing->index[n].shift = 0;
    if (packing->remap[n].bits == 0) packing->remap[n].word = packing->remap[n].shift = 0;
  }
}

void pd_flycoo_like(const struct pd_traits *traits, const struct pd_request *request,
                    struct pd_flycoo *like) {
  *like =
      (struct pd_flycoo){.order = traits->order, .nnz = traits->nnz, .type = request->precision};
  pd_flycoo_read_variant(request->variant, like);
  pd_flycoo_pack(traits->order, traits->dims, traits->nnz, like->type, &like->packing);
}

int pd_flycoo_words(const struct pd_flycoo *storage, int mode) {
  const struct pd_flycoo_packing *packing = &storage->packing;
  if (mode == 0 || !storage->sorted || !storage->remap) return packing->words;
  int bits = storage->type == POLYAD_F32 ? 32 : 64, last = storage->order - 1;
  for (int n = 0; n <= last; ++n)
    bits += n < last || mode < last ? packing->index[n].bits : 0;
  for (int n = mode + 1; n <= last; ++n)
    bits += packing->remap[n].bits;
  return (bits + 31) / 32;
}
