/* Packing of indices into planes of words: first fit, widest field first; a field never straddles
 * two words. */
#include "formats/modecopy/modecopy_layout.h"

void pd_modecopy_pack(struct pd_modecopy_copy *copy, int fields, const uint64_t *dims) {
  int used[POLYAD_MAX_ORDER + 1] = {0};
  bool placed[POLYAD_MAX_ORDER] = {false};
  copy->planes = 1;
  for (int step = 0; step < fields; ++step) {
    int widest = -1;
    for (int k = 0; k < fields; ++k)
      if (!placed[k] && (widest < 0 || pd_index_bits(dims[copy->field[k].mode]) >
                                           pd_index_bits(dims[copy->field[widest].mode])))
        widest = k;
    struct pd_modecopy_field *field = &copy->field[widest];
    int bits = pd_index_bits(dims[field->mode]), plane = 0;
    while (used[plane] + bits > 32)
      ++plane;
    field->plane = plane;
    field->shift = used[plane] == 32 ? 0 : used[plane];
    field->mask = bits == 32 ? UINT32_MAX : ((uint32_t)1 << bits) - 1;
    used[plane] += bits;
    if (plane + 1 > copy->planes) copy->planes = plane + 1;
    placed[widest] = true;
  }
}
