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

/* Whether the pieces are modes as a whole, in one word. */
static bool is_plain(const struct pd_layout *layout) {
  for (int k = 0; k < layout->pieces; ++k)
    for (int l = 0; l < k; ++l)
      if (layout->piece[k].mode == layout->piece[l].mode) return false;
  return layout->pieces > 0 && layout->key_bits <= 64;
}

bool pd_layout_follows(const struct pd_layout *keys, const struct pd_layout *sorted) {
  int next = 1;
  if (!is_plain(keys) || !is_plain(sorted) || keys->pieces != sorted->pieces) return false;
  if (keys->piece[0].bits > PD_DIGIT_BITS_MOST) return false;
  for (int k = 0; k < sorted->pieces; ++k)
    if (sorted->piece[k].mode != keys->piece[0].mode &&
        (next == keys->pieces || sorted->piece[k].mode != keys->piece[next++].mode))
      return false;
  return next == keys->pieces;
}

int pd_layout_followed(int count, const struct pd_layout *keys) {
  int followed = -1, most = 0;
  for (int k = 0; k < count; ++k) {
    int followers = 0;
    for (int l = 0; l < count; ++l)
      followers += l != k && pd_layout_follows(&keys[l], &keys[k]);
    if (followers <= most) continue;
    followed = k;
    most = followers;
  }
  return followed;
}

int pd_index_bits_of_all(int order, const uint64_t *dims) {
  int bits = 0;
  for (int n = 0; n < order; ++n)
    bits += pd_index_bits(dims[n]);
  return bits;
}
