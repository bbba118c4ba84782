/* Between the parts of the CPU's kernels of "alto"; one table per instruction set. */
#ifndef PD_ALTO_KERNEL_H
#define PD_ALTO_KERNEL_H

#include "formats/alto/alto_code.h"
#include "formats/rowsum/driver.h"

enum {
  PD_ALTO_BLOCK = 128,              /* nonzeros decoded at once */
  PD_ALTO_AHEAD = 16,               /* nonzeros between the prefetch of a row and its use */
  PD_ALTO_PREFETCH_FROM = 16 << 20, /* bytes of a matrix: in the order of the keys only part of
                                       its rows is at work */
  PD_ALTO_LINE = 8,                 /* doubles of a cache line */
  PD_ALTO_COLUMN = PD_ALTO_BLOCK + PD_ALTO_AHEAD
};

/** Addresses of rows, one per nonzero of a block. */
typedef const char *pd_alto_rows[PD_ALTO_COLUMN];

/** Some nonzeros in one column block (see struct pd_column_block). */
struct pd_alto_work {
  uint32_t count;
  int columns;             /* factors to multiply */
  const pd_alto_rows *row; /* their rows: row[g] + p */
  const char *const *sum;  /* sums of the output rows, in double */
  const char *const *own;  /* rows of B; phi only */
  const void *values;
  double least;        /* the least model that is divided by */
  const void *keep;    /* phi: of the last vector, 0 for lanes that overlap the vector before */
  uint64_t first;      /* byte of a factor row at which the column block begins */
  uint64_t tail;       /* byte of its last vector, from there */
  uint64_t sums_first; /* byte of the sums at which its columns begin */
  bool prefetches, prefetch[POLYAD_MAX_ORDER], prefetch_sums, prefetch_own;
};

typedef void pd_alto_work_function(const struct pd_alto_work *work);

/** Columns of a matrix that follow one another in a row of sums too, from `place` on. The lanes
 *  where column blocks' last vectors overlap others are in no run. */
struct pd_alto_columns {
  uint64_t place, column, count;
};

/** One instance of the kernels. */
struct pd_alto_kernel {
  pd_alto_work_function *add; /* sums += value x product of the rows */
  pd_alto_work_function *phi; /* the same with the slope of the Poisson gain at <B, product> for
                                 value; all columns of the rank must lie in one block */
};

/** What all threads of one call share. */
struct pd_alto_job {
  const struct pd_alto *alto;
  pd_alto_decode_function *decode;
  const struct pd_column_blocks *blocks;      /* lanes and places of columns */
  const struct pd_alto_kernel *const *kernel; /* of each block */
  int mode;
  uint64_t rank, padded;
  int other[POLYAD_MAX_ORDER]; /* the modes but this, which sources name by their place here */
  struct pd_sources sources;   /* factors to multiply, pairs of short ones taken as one */
  const char *own;             /* the mode's own factor, where the model is needed */
  uint64_t own_stride;         /* in bytes */
  bool weighs;                 /* values are replaced by slopes of the loss's gain */
  bool gains;                  /* the sum of the gains is wanted, no rows */
  struct pd_loss loss;
  const char *products; /* stored rows of Pi, in the order of the nonzeros; NULL: none */
  char *products_out;   /* where they are to be stored; NULL: not now */
  bool atomic;
  const void *keep, *ones;               /* of the plan's type */
  const struct pd_alto_columns *columns; /* all columns of the rank */
  int runs;                              /* of columns */
  uint64_t sums_columns;                 /* numbers of a row of sums */
};

/** One thread's part of the nonzeros, and where the sums of its rows are: those of rows `own`,
 *  which no other part touches, at middle + row x middle_stride, those of rows before and behind
 * them at left and right + row x stride. */
struct pd_alto_part {
  uint64_t begin, end;
  struct pd_alto_span own;
  uintptr_t left, middle, right;
  uint64_t stride, middle_stride; /* in bytes */
  double *tile;                   /* sums of a block of nonzeros before they go elsewhere */
  double *gain;                   /* the part's share of the sum of gains */
};

struct pd_alto_isa {
  const struct pd_alto_kernel *(*pick)(polyad_type type, int lanes, int vectors);
  void (*drive)(const struct pd_alto_job *job, const struct pd_alto_part *part);
};

extern const struct pd_alto_isa pd_alto_plain;
extern const struct pd_alto_isa pd_alto_avx2;
extern const struct pd_alto_isa pd_alto_avx512;

#endif
