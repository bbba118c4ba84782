#include "formats/alto/alto_bits.h"
#include "tensor/tensor.h"
#include <string.h>

/* The mode whose side of the box that is left is the longest; of two with as many bits, the one
 * that fills more of them. */
static int alto_bits_longest(int order, const uint64_t *dims, const int *left) {
  int best = -1;
  for (int n = 0; n < order; ++n) {
    if (left[n] == 0) continue;
    if (best < 0 || left[n] > left[best]) best = n;
    if (left[n] < left[best]) continue;
    double mine = (double)dims[n] / (double)(UINT64_C(1) << (pd_index_bits(dims[n]) - 1));
    double other = (double)dims[best] / (double)(UINT64_C(1) << (pd_index_bits(dims[best]) - 1));
    if (mine > other) best = n;
  }
  return best;
}

/* Bit `from` of the key is bit `to` of the mode's index; both come from the highest down. */
static void add_bit(struct pd_alto_mode *mode, int from, int to) {
  int word = from / 64, place = from % 64;
  mode->mask[word] |= UINT64_C(1) << place;
  mode->low_bits += word == 0;
  struct pd_alto_run *last = mode->runs > 0 ? &mode->run[mode->runs - 1] : NULL;
  if (last != NULL && last->word == word && last->from == place + 1) {
    --last->from;
    --last->to;
    ++last->bits;
  } else {
    mode->run[mode->runs++] =
        (struct pd_alto_run){(uint8_t)word, (uint8_t)place, (uint8_t)to, (uint8_t)1};
  }
}

int pd_alto_interleave(int order, const uint64_t *dims, struct pd_alto_mode *mode) {
  int left[POLYAD_MAX_ORDER], bits = 0;
  for (int n = 0; n < order; ++n)
    bits += left[n] = pd_index_bits(dims[n]);
  if (bits > PD_ALTO_BITS_MAX) return bits;
  memset(mode, 0, (size_t)order * sizeof *mode);
  for (int n = 0; n < order; ++n)
    mode[n].bits = left[n];
  for (int place = bits - 1; place >= 0; --place) {
    int n = alto_bits_longest(order, dims, left);
    add_bit(&mode[n], place, --left[n]);
  }
  return bits;
}

/* The longest mode that is not placed yet; -1 when all are. */
static int next_longest(int order, const struct pd_alto_mode *mode, const bool *placed) {
  int best = -1;
  for (int n = 0; n < order; ++n)
    if (!placed[n] && (best < 0 || mode[n].bits > mode[best].bits)) best = n;
  return best;
}

/* Places the longest modes first, each in the first word that has room; false when one fits in
 * neither. */
static bool place_whole(int order, int high_bits, const struct pd_alto_mode *mode, int *place) {
  int used[2] = {0, 0};
  const int room[2] = {64, high_bits};
  bool placed[POLYAD_MAX_ORDER] = {false};
  for (int n; (n = next_longest(order, mode, placed)) >= 0;) {
    int word = used[0] + mode[n].bits <= room[0] ? 0 : 1;
    if (used[word] + mode[n].bits > room[word]) return false;
    place[n] = 64 * word + used[word];
    used[word] += mode[n].bits;
    placed[n] = true;
  }
  return true;
}

void pd_alto_concatenate(int order, const uint64_t *dims, int high_bits,
                         struct pd_alto_mode *mode) {
  int place[POLYAD_MAX_ORDER], at = 0;
  memset(mode, 0, (size_t)order * sizeof *mode);
  for (int n = 0; n < order; ++n)
    mode[n].bits = pd_index_bits(dims[n]);
  if (!place_whole(order, high_bits, mode, place))
    for (int n = 0; n < order; ++n) {
      place[n] = at;
      at += mode[n].bits;
    }
  for (int n = 0; n < order; ++n)
    for (int b = mode[n].bits - 1; b >= 0; --b)
      add_bit(&mode[n], place[n] + b, b);
}
