/* Two inputs of a copy taken as one on a GPU: their Khatri-Rao product, a table of the products of
 * their rows, which is gathered in place of both. The tensor is stored as without it: where the
 * indices of both lie side by side in a word, they are the row's number in the table. */
#ifndef PD_MODECOPY_PAIRS_H
#define PD_MODECOPY_PAIRS_H

#include "formats/modecopy/modecopy_layout.h"

/** Row index[high] << bits | index[low] of the table is the product of their rows. */
struct pd_modecopy_pair {
  int high, low; /* which inputs of the copy */
  int bits;      /* of an index in `low` */
  uint64_t rows; /* of the table; 0: no pair is worth one */
};

/** Where an input's index lies, and whose it is. */
struct pd_modecopy_input {
  int mode; /* -1: rows of the table */
  int plane, shift;
  uint32_t mask;
};

/** The pair of a copy's inputs whose table pays most for so many columns. */
struct pd_modecopy_pair pd_modecopy_pair_of(const struct pd_modecopy *storage, int mode,
                                            uint64_t rank);
/** The inputs of a copy, outermost first, those of the pair as one. Returns how many there are. */
int pd_modecopy_inputs(const struct pd_modecopy_copy *copy, const struct pd_modecopy_pair *pair,
                       struct pd_modecopy_input *input);
/** In how many copies a table is worth it, and the rows of the largest. */
int pd_modecopy_tables(const struct pd_modecopy *storage, uint64_t rank, uint64_t *rows);
/** Bytes of the largest table of the copies that there are; and of one that copies of a tensor with
 *  such traits may have at most. */
uint64_t pd_modecopy_table_bytes(const struct pd_modecopy *storage, uint64_t rank);
uint64_t pd_modecopy_table_bytes_at_most(const struct pd_traits *traits, uint64_t rank,
                                         polyad_type type);
/** Rows of a table of two modes of such lengths; 0: too many. */
uint64_t pd_modecopy_table_rows(uint64_t nnz, uint64_t row_bytes, uint64_t high, uint64_t low);
/** What a sum of sorted rows gathers: the innermost input's row for every nonzero, those of the
 * others for every run. */
struct pd_modecopy_gather {
  double nnz, runs;
  double row_bytes;
  int inputs; /* outermost first */
  double rows[POLYAD_MAX_ORDER];
  uint64_t table; /* rows of the table that is made first; 0: none */
};
/** Its cost, in rows that are near: the one model, of copies that there are and of those thought
 * of. */
double pd_modecopy_gather_cost(const struct pd_modecopy_gather *gather);

#endif
