/* Sorting of nonzeros as packed records (see layout.h), without permutations: what is moved is the
 * nonzero itself.
 *
 * All threads read the source twice, a block that stays in the nearest cache at a time: to count
 * how many records have each leading digit of the key, and to pack every nonzero and write it to
 * the bucket of its digit. A bucket fits the second level of cache; one thread sorts it there by
 * the other digits, from the lowest to the highest, and hands it on while it still lies there. A
 * bucket that is too large is first divided by a further digit, by all threads if it is one of few.
 *
 * Every step keeps the order of records with equal digits. A stable order is unique: the result
 * depends neither on the number of threads nor on how records fall into buckets. */
#ifndef PD_RECORDS_H
#define PD_RECORDS_H

#include "build/layout.h"

enum { PD_PACK_BLOCK = 256 };

/** Indices and values of at most PD_PACK_BLOCK nonzeros, as arrays of a tensor's types. */
struct pd_block {
  const void *index[POLYAD_MAX_ORDER], *values;
  uint64_t room[POLYAD_MAX_ORDER + 1][PD_PACK_BLOCK]; /* for arrays that are nowhere else */
};

/** Nonzeros that records are made from. */
struct pd_record_source {
  const polyad_tensor *tensor;
  /** Nonzeros that are no arrays, of which `tensor` then tells the dims and types alone: points
   *  `block` at those [first, first + count); `modes` has bits of the modes that are wanted, and
   * bit POLYAD_MAX_ORDER for the values. NULL: they are the tensor's. */
  void (*fetch)(const void *user, uint64_t first, uint64_t count, uint32_t modes,
                struct pd_block *block);
  bool places; /* the value of a record is the number of the nonzero in the tensor */
  /** Keys that are not made of pieces: writes the key's words of nonzeros [first, first + count);
   *  word[w] has `count` numbers, all zero. NULL: keys are made of pieces. */
  void (*encode)(const void *user, uint64_t first, uint64_t count, uint64_t *const *word);
  /** Called once the source is read and not needed any more, so that its memory may be given up
   *  before that of the result is taken. NULL: nothing is to be done. */
  polyad_status (*packed)(polyad_context *context, void *user);
  void *user;
};

/** What becomes of sorted records: those from place `first` on of the sorted order. Called once for
 *  every record, by all threads, in no order; the records are overwritten after it. */
typedef void (*pd_visit_function)(void *visitor, uint64_t first, uint64_t count,
                                  const uint64_t *records);

/** Memory of sorting, kept from one sort to the next. Zero at first. */
struct pd_room {
  int words;
  uint64_t count;
  uint64_t *records;     /* count records of so many words */
  uint64_t *spare;       /* as many; NULL until a sort needs it */
  bool keeps;            /* the next sort leaves its records in `spare`, for those that follow it */
  struct pd_layout kept; /* of the sorted records in `spare`; no pieces: none are there */
  bool unordered;        /* the source is not sorted by its modes in turn, as tensors are */
  int value_bits;        /* of records with a tensor's values: pd_value_bits() of it */
};

/** Room for sorting `count` records of `words` words. */
polyad_status pd_room_create(polyad_context *context, uint64_t count, int words,
                             struct pd_room *room);
/** Room for records of keys of `key_bits` bits and the values of a tensor. */
polyad_status pd_room_create_values(polyad_context *context, const polyad_tensor *tensor,
                                    int key_bits, struct pd_room *room);
/** Bits that a value takes in a record: those of the largest where all are whole numbers, as counts
 *  are, which makes records short; else all of them. */
int pd_value_bits(const polyad_context *context, const polyad_tensor *tensor);
void pd_room_destroy(polyad_context *context, struct pd_room *room);
/** The most bytes that a room and a sort in it take. */
uint64_t pd_sorting_bytes(uint64_t count, int words, int threads);

/** Sorts the nonzeros by the first `sort_bits` bits of their keys; those that agree in them stay in
 *  the source's order. Where the room keeps records that are in that order but for the first mode,
 *  they are sorted by that mode alone.
 *  @param layout  becomes that of the records that are handed on, kept ones having another
 *  @param visit  called with `visitor` and the sorted records; NULL: they are left in
 *                room->records */
polyad_status pd_records_sort(polyad_context *context, const struct pd_record_source *source,
                              struct pd_layout *layout, int sort_bits, struct pd_room *room,
                              pd_visit_function visit, void *visitor);

/** Unpacks the indices of a mode: to[p] for each of `count` records, of 2, 4 or 8 bytes. */
void pd_records_index(const struct pd_layout *layout, uint64_t count, const uint64_t *records,
                      int mode, int bytes, void *to);
/** Unpacks the values (or numbers), of as many bytes as the layout says. */
void pd_records_values(const struct pd_layout *layout, uint64_t count, const uint64_t *records,
                       void *to);

/** Index of a mode in one record. */
static inline uint64_t pd_record_index(const struct pd_layout *layout, const uint64_t *record,
                                       int mode) {
  uint64_t index = 0;
  for (int k = 0; k < layout->pieces; ++k) {
    const struct pd_piece *piece = &layout->piece[k];
    if (piece->mode == mode)
      index |= (record[piece->word] >> piece->shift & pd_low_mask(piece->bits)) << piece->low;
  }
  return index;
}

#endif
