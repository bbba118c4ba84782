/* Two short modes taken as one: their Khatri-Rao product, a table small enough for the cache,
 * spares every nonzero one of two factor rows. */
#ifndef PD_PAIR_TABLES_H
#define PD_PAIR_TABLES_H

#include "formats/rowsum/rowsum.h"

/** What the kernels take for one column: a column of the list or a pair of them. */
struct pd_source {
  int columns;      /* 1 or 2 */
  int column[2];    /* of the list */
  uint64_t inner;   /* rows of the second column's factor */
  const void *rows; /* the factor, or the pair's table */
  uint64_t stride;  /* elements from row to row */
  uint64_t count;   /* rows */
};

struct pd_sources {
  int count;
  struct pd_source source[POLYAD_MAX_ORDER];
};

/** Chooses pairs of a job's columns as far as `bytes` of tables allow (0: none); the tables are
 *  still to be filled. */
void pd_sources_choose(const struct pd_rowsum_job *job, void *tables, uint64_t bytes,
                       struct pd_sources *sources);
/** Fills the tables of the pairs. */
void pd_sources_fill(const struct pd_rowsum_job *job, const struct pd_sources *sources,
                     int threads);

#endif
