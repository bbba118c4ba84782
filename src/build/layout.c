#include "build/layout.h"

void pd_layout_skip(struct pd_layout *layout, int bits) { layout->key_bits += bits; }

void pd_layout_add(struct pd_layout *layout, int mode, int low, int high) {
  while (high > low) {
    int left = 64 - layout->key_bits % 64, bits = high - low < left ? high - low : left;
    layout->piece[layout->pieces++] = (struct pd_piece){.mode = mode,
                                                        .low = high - bits,
                                                        .bits = bits,
                                                        .word = layout->key_bits / 64,
                                                        .shift = left - bits};
    layout->key_bits += bits;
    high -= bits;
  }
}

void pd_layout_end(struct pd_layout *layout, int value_bits) {
  layout->value_bits = value_bits;
  layout->value_bytes = value_bits / 8;
  layout->words = pd_record_words(layout->key_bits, value_bits);
}

void pd_layout_end_values(struct pd_layout *layout, polyad_type type, int value_bits) {
  pd_layout_end(layout, value_bits);
  layout->value_bytes = (int)pd_type_bytes(type);
}

int pd_layout_unsorted_bits(const struct pd_layout *layout) {
  int bits = layout->key_bits, next = POLYAD_MAX_ORDER;
  for (int k = layout->pieces - 1; k >= 0 && layout->piece[k].mode <= next; --k) {
    next = layout->piece[k].mode;
    bits -= layout->piece[k].bits;
  }
  return bits;
}

int pd_index_bits_of_all(int order, const uint64_t *dims) {
  int bits = 0;
  for (int n = 0; n < order; ++n)
    bits += pd_index_bits(dims[n]);
  return bits;
}
