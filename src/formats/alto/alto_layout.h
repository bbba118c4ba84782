/* Layout of format "alto": all nonzeros once, in the order of their keys.
 *
 *   low     [ k k k k | k k k k | ... ]   low words, 4 or 8 bytes each
 *   high    [ h h h h | h h h h | ... ]   high words of keys longer than 64 bits, 4 or 8 bytes
 *   values  [ x x x x | x x x x | ... ]
 *   span          0         1             of each segment and mode: the rows it touches
 *
 * The words hold the keys themselves (variants "keys") or, once these gave the order, the indices
 * side by side in as many bits ("fields"): one shift and mask then decode an index. Variants "coo"
 * hold the indices as arrays instead, in the same order. Segments hold equal numbers of nonzeros;
 * a thread takes some that follow each other. */
#ifndef PD_ALTO_LAYOUT_H
#define PD_ALTO_LAYOUT_H

#include "formats/alto/alto_bits.h"
#include "tensor/tensor.h"

enum { PD_ALTO_SEGMENTS = 1024, PD_ALTO_SEGMENT_LEAST = 64 };

/** Its parameters, in the order of its table. */
enum { PD_ALTO_SEGMENTS_ASKED };

/** Rows [begin, end). */
struct pd_alto_span {
  uint64_t begin, end;
};

enum { PD_ALTO_CHUNK = 64 /* places of a list from one entry of chunk_row to the next */ };

static inline uint64_t pd_alto_chunks(uint64_t nnz) {
  return (nnz + PD_ALTO_CHUNK - 1) / PD_ALTO_CHUNK;
}

/** The nonzeros of the output rows of a mode, one row after the other, those of a row in the order
 * of their keys. */
struct pd_alto_rows {
  uint64_t rows;       /* that have nonzeros */
  uint32_t *order;     /* nonzero at each place */
  uint32_t *row_id;    /* output row of each row */
  uint64_t *row_start; /* rows + 1: first place of each */
  uint32_t *chunk_row; /* row of place 64 c; one more at the end: rows */
};

struct pd_alto {
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nnz;
  polyad_type type;
  bool decoded;                                /* variants coo: indices, no words */
  bool atomic;                                 /* atomic edition */
  bool adaptive;                               /* the paper's choice of edition for each mode */
  int bits;                                    /* of a key */
  struct pd_alto_mode mode[POLYAD_MAX_ORDER];  /* bits of the keys, which give the order */
  struct pd_alto_mode field[POLYAD_MAX_ORDER]; /* bits of the words */
  bool fields;                                 /* they are not the same */
  int low_bytes, high_bytes;                   /* of the words, 0 without */
  void *low, *high;
  int index_bytes[POLYAD_MAX_ORDER]; /* 2, 4 or 8; variants coo only */
  void *index[POLYAD_MAX_ORDER];
  void *values;
  bool far;   /* for a device of its own memory: without segments */
  bool lists; /* whether it has lists of rows: there, but for the atomic edition */
  struct pd_alto_rows list[POLYAD_MAX_ORDER];
  int segments;              /* segment s begins at pd_part_begin(nnz, s, segments) */
  struct pd_alto_span *span; /* of segment s and mode n: span[s * order + n] */
};

static inline uint64_t pd_alto_number(const void *array, int bytes, uint64_t p) {
  if (bytes == 2) return ((const uint16_t *)array)[p];
  if (bytes == 4) return ((const uint32_t *)array)[p];
  return ((const uint64_t *)array)[p];
}

/** Whether the sums of a mode are added atomically. keys-adaptive decides it as the paper does:
 *  temporaries cost two reads and two writes of every row, so a mode whose rows have fewer than
 * five nonzeros in the mean does without them (the paper's limit of 4, the mean rounded down). */
static inline bool pd_alto_adds_atomically(const struct pd_alto *alto, int mode) {
  enum { LEAST_REUSE = 4 };
  return alto->atomic || (alto->adaptive && alto->nnz / alto->dims[mode] <= LEAST_REUSE);
}

/** Words of nonzero p; not for variants coo. */
static inline struct pd_alto_key pd_alto_words_at(const struct pd_alto *alto, uint64_t p) {
  return (struct pd_alto_key){
      {pd_alto_number(alto->low, alto->low_bytes, p),
       alto->high_bytes == 0 ? 0 : pd_alto_number(alto->high, alto->high_bytes, p)}};
}

/** The rows that segments [begin, end) touch in a mode. */
static inline struct pd_alto_span pd_alto_span_of(const struct pd_alto *alto, int begin, int end,
                                                  int mode) {
  struct pd_alto_span all = {UINT64_MAX, 0};
  for (int s = begin; s < end; ++s) {
    struct pd_alto_span one = alto->span[(uint64_t)s * (uint64_t)alto->order + (uint64_t)mode];
    if (one.begin < all.begin) all.begin = one.begin;
    if (one.end > all.end) all.end = one.end;
  }
  return all;
}

#endif
