/* Where the bits of a nonzero's indices lie in a record.
 *
 * A record is a nonzero as one long binary number: its key, in the highest bits, and its value, in
 * the lowest ones. A key is made of pieces, each some neighbouring bits of one mode's index; the
 * piece that was added first lies highest, so that comparing keys as numbers compares these bits
 * first. The number is kept in 64-bit words, the highest word first:
 *
 *   word 0                                  word 1
 *   | piece 0 | piece 1 | piece 2 | unused | value (f64)                            |
 *
 * Sorting then moves whole records and needs neither permutations nor gathering. */
#ifndef PD_LAYOUT_H
#define PD_LAYOUT_H

#include "tensor/tensor.h"

/** Bits [low, low + bits) of a mode's index are bits [shift, shift + bits) of a word. */
struct pd_piece {
  int mode, low, bits;
  int word, shift;
};

enum {
  /* Two pieces a mode, and one more for each end of a word in between. */
  PD_PIECES_MAX = 3 * POLYAD_MAX_ORDER + 1,
  PD_RECORD_WORDS_MAX = POLYAD_MAX_ORDER + 1,
  PD_DIGIT_BITS_MOST = 11 /* of a digit that records are sorted by in one move */
};

struct pd_layout {
  int words;       /* of a record */
  int key_bits;    /* from the highest bit of the first word down */
  int value_bits;  /* the lowest bits of the last word */
  int value_bytes; /* of an unpacked value: 8 bits each are the value as it is, fewer a whole number
                    */
  int pieces;      /* 0 in keys that are not made of pieces, such as interleaved ones */
  struct pd_piece piece[PD_PIECES_MAX];
};

/** Adds bits [low, high) of a mode's index below those that are there; `layout` is zero at first.
 *  The bits of a mode are added from the highest to the lowest. */
void pd_layout_add(struct pd_layout *layout, int mode, int low, int high);
/** Adds `bits` bits that are no piece. */
void pd_layout_skip(struct pd_layout *layout, int bits);
/** Ends a layout: finds out how many words a record has. Values of 0, 32 or 64 bits, as they are.
 */
void pd_layout_end(struct pd_layout *layout, int value_bits);
/** The same for a tensor's values in records of pd_value_bits() bits. */
void pd_layout_end_values(struct pd_layout *layout, polyad_type type, int value_bits);

/** How many leading bits of the key a stable sort of a tensor's nonzeros must look at: a tensor is
 *  sorted by its modes in turn, and the order of further bits is that already. */
int pd_layout_unsorted_bits(const struct pd_layout *layout);
/** Whether nonzeros in the order of `sorted` need but one move, by the first mode of `keys`, to be
 * in the order of `keys`: the other modes follow each other there as they do in `keys`. */
bool pd_layout_follows(const struct pd_layout *keys, const struct pd_layout *sorted);
/** The one of `count` layouts that most of the others follow; -1: none follows another. */
int pd_layout_followed(int count, const struct pd_layout *keys);
/** Which one is the k-th where that one, `first`, comes before the others; -1: as they are. */
static inline int pd_layout_turn(int k, int first) {
  return first < 0 || k > first ? k : k == 0 ? first : k - 1;
}

/** Words of a record with so many bits. */
static inline int pd_record_words(int key_bits, int value_bits) {
  return (key_bits + value_bits + 63) / 64 + (key_bits + value_bits == 0);
}

/** Bits of all indices of a nonzero together. */
int pd_index_bits_of_all(int order, const uint64_t *dims);

#endif
