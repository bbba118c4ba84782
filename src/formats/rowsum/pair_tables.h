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

/** What tables hold, one after the other: of which modes and versions of their factors. */
struct pd_tables_made {
  int count;
  struct pd_table_made {
    const void *rows;
    int mode[2];
    uint64_t version[2];
  } table[POLYAD_MAX_ORDER / 2];
};

/** Chooses pairs of a job's columns as far as `bytes` of tables allow (0: none); the tables are
 *  still to be filled. */
void pd_sources_choose(const struct pd_rowsum_job *job, void *tables, uint64_t bytes,
                       struct pd_sources *sources);
/** Fills the tables of the pairs, but those that hold what they should. */
void pd_sources_fill(const struct pd_rowsum_job *job, const struct pd_sources *sources, int threads,
                     struct pd_tables_made *made);

#endif
