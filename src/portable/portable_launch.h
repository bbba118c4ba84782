/* What a launch of the portable kernels is on the host's side, for any device. */
#ifndef PD_PORTABLE_LAUNCH_H
#define PD_PORTABLE_LAUNCH_H

#include <polyad/bench.h>
#include <stdint.h>

typedef uint32_t pd_u32;
typedef uint64_t pd_u64;
#include "portable/portable_job.h"

/** One loop of STREAM over arrays of `count` numbers, a multiple of PD_STREAM_UNIT, in memory of
 *  the device that runs it. */
struct pd_stream_job {
  polyad_stream_loop loop;
  polyad_type type;
  uint64_t count;
  void *a, *b, *c;
  double scalar;
};

enum { PD_STREAM_UNIT = 4096 };

/** What a launch runs. The first five are kinds of the kernel over rows (kernels_rows.h). */
enum pd_rows_what {
  PD_ROWS_SUM,    /* out = MTTKRP */
  PD_ROWS_PHI,    /* out = Phi; the tile holds all columns */
  PD_ROWS_DOTS,   /* out = slopes of the gain at the model's values, tile after tile; or, with
                     PD_DOTS_GAINS, head = doubles, the gains of each group's segment */
  PD_ROWS_PI,     /* out = rows of Pi, one per nonzero */
  PD_ROWS_STORED, /* Phi from stored rows of Pi (factor 0); the tile holds all columns */
  PD_ROWS_JOIN,   /* rows that work groups share */
  PD_ROWS_ZERO,   /* rows without nonzeros, or with job.atomic all */
  PD_ROWS_GAINS   /* doubles: out[i] = sum of `rows` numbers of head, job.segment at a time */
};

enum { PD_ROWS_KINDS = 5, PD_ROWS_CLASSES = 4, PD_ROWS_TILES = 4, PD_ROWS_PARTIAL = 3 };

/** Arrays on the device: whatever its device calls a pointer. Lists are padded to a multiple of
 *  PD_PORTABLE_STEP. */
struct pd_rows_pointers {
  void *ends; /* bit p % 32 of word p / 32: nonzero p is the last of its row */
  void *values, *row_start, *row_id, *chunk_row, *used;
  void *b, *out, *head, *tail;
  void *plane[PD_PORTABLE_INPUTS], *factor[PD_PORTABLE_INPUTS];
};

struct pd_rows_launch {
  enum pd_rows_what what;
  polyad_type type;
  int inputs_class; /* see pd_rows_class() */
  int tile;
  uint64_t groups; /* of lanes, each with a segment; from PD_ROWS_JOIN on: work items */
  uint64_t rows;   /* PD_ROWS_ZERO: of out; PD_ROWS_GAINS: numbers of head */
  struct pd_rows_job job;
  struct pd_rows_pointers at;
};

/** The tiles of a backend: three whole ones, ascending, and a partial one. */
struct pd_rows_shape {
  int columns[2][PD_ROWS_TILES]; /* by type; of the partial tile: at most so many */
  int groups[PD_ROWS_TILES];     /* of lanes in a work group */
  int alignment;                 /* bytes that whole tiles' rows must be a multiple of */
};

/** Kernels exist for 2, 3 and 4 inputs, and for any number (class 0). */
static inline int pd_rows_class(int inputs) { return inputs >= 2 && inputs <= 4 ? inputs - 1 : 0; }

#endif
