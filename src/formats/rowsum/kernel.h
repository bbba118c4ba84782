/* What one instance of the summing kernel gets; see kernel_body.h. */
#ifndef PD_ROWSUM_KERNEL_H
#define PD_ROWSUM_KERNEL_H

#include "formats/rowsum/rowsum.h"
#ifdef __AVX__
#include <immintrin.h>
#endif

enum {
  PD_BLOCK = 128, /* nonzeros whose row offsets are decoded at once; float sums of at most so
                     many terms go into double sums */
  PD_TERMS = 16,  /* of them, in float sums that are added up: so a product goes through fewer
                     additions, and a fit of CP-ALS in float is more often precise enough without
                     a pass over the nonzeros */
  PD_AHEAD = 16,  /* nonzeros between the prefetch of a factor row and its use */
  PD_PREFETCH_FROM = 1 << 19, /* bytes of a factor that the second level of cache keeps */
  PD_VECTORS_MAX = 8,
  PD_LANES_MAX = 16
};

/** Addresses of factor rows, one column of the list after the other: fixed distances leave the
 *  kernels a single pointer to keep in a register. */
typedef const char *pd_rows[PD_BLOCK + PD_AHEAD];

/** A run of nonzeros of one output row. */
struct pd_run {
  uint32_t count;
  int columns;
  bool fresh;         /* sums are set, not added to */
  bool prefetches;    /* whether any column is to be prefetched */
  const pd_rows *row; /* row[g] + p: of nonzero p in column g */
  const void *values;
  uint64_t first; /* byte of a row at which the column block begins */
  uint64_t tail;  /* byte offset of the block's last vector */
  bool prefetch[POLYAD_MAX_ORDER];
};

typedef void pd_run_function(const struct pd_run *run, double *sums);

/** Where the dot products of a run's rows of Pi with a row of B go. */
struct pd_dots {
  const void *b;        /* the block's columns, vector after vector; 0 where one repeats another */
  void *dots;           /* of the factors' type, one per nonzero and up to PD_LANES_MAX more */
  bool fresh;           /* set, not added to */
  char *tile;           /* gets the rows of Pi (all columns of the block); NULL: not kept */
  uint64_t tile_stride; /* bytes */
};

typedef void pd_dots_function(const struct pd_run *run, const struct pd_dots *to);

/** The kernels of one vector length and number of vectors. */
struct pd_instance {
  pd_run_function *run;
  pd_dots_function *dots;
};

/** Some columns of the rank, held in registers at once. */
struct pd_column_block {
  struct pd_instance kernel;
  uint64_t first; /* column */
  int lanes, vectors;
  uint64_t tail; /* column of the last vector, relative to `first`; it may overlap the one
                    before, so that any rank of at least `lanes` needs no masks */
};

struct pd_column_blocks {
  int count;
  struct pd_column_block *block;
};

#endif
