/* Between the parts of the summing machinery: one table per instruction set. */
#ifndef PD_ROWSUM_DRIVER_H
#define PD_ROWSUM_DRIVER_H

#include "core/numbers.h"
#include "formats/rowsum/kernel.h"
#include "formats/rowsum/pair_tables.h"

/** One thread's share of the nonzeros. */
struct pd_rowsum_part {
  uint64_t begin, end; /* nonzeros */
  uint64_t run;        /* the run of the first of them */
  uint64_t block;      /* and its block; tiled lists only */
  double *sums;        /* of the row or block at work */
  double *head;        /* of one that began in an earlier part */
  double *tail;        /* of one that goes on in a later part */
  void *b;             /* room for a row of B, as the column blocks hold it */
  double *gain;        /* the part's share of the sum of gains */
};

/** A job and what all its threads share. */
struct pd_rowsum_pass {
  const struct pd_rowsum_job *job;
  const struct pd_column_blocks *blocks;
  struct pd_sources sources;
};

struct pd_rowsum_isa {
  int (*lanes)(polyad_type type, uint64_t rank);
  const struct pd_instance *(*pick)(polyad_type type, int lanes, int vectors);
  void (*drive)(const struct pd_rowsum_pass *pass, const struct pd_rowsum_part *part);
  /** The same for tiled lists. */
  void (*drive_tiled)(const struct pd_rowsum_pass *pass, const struct pd_rowsum_part *part);
  /** Writes the part's rows of Pi into their places in `pi`. */
  void (*drive_pi)(const struct pd_rowsum_pass *pass, const struct pd_rowsum_part *part, void *pi);
  /** Replaces models by the slopes of the loss's gain there. */
  void (*slopes)(polyad_type type, uint64_t count, const void *values, const struct pd_loss *loss,
                 void *models);
  /** The sum of the gains. */
  double (*gains)(polyad_type type, uint64_t count, const void *values, const struct pd_loss *loss,
                  const void *models);
  /** Writes sums (in the order of the column blocks) as row `index` of `out`. */
  void (*write_row)(const struct pd_rowsum_job *job, const struct pd_column_blocks *blocks,
                    const double *sums, uint64_t index);
};

extern const struct pd_rowsum_isa pd_rowsum_plain;
extern const struct pd_rowsum_isa pd_rowsum_avx2;
extern const struct pd_rowsum_isa pd_rowsum_avx512;

/** Scratch of running jobs; see rowsum.h. */
struct pd_rowsum_scratch {
  struct pd_scratch *owner; /* has the arrays */
  const struct pd_rowsum_isa *isa;
  int threads; /* parts that the nonzeros are cut into */
  int workers; /* threads that carry them out: as many but for pd_rowsum_share_parts() */
  struct pd_column_blocks blocks;
  uint64_t block_rows; /* rows that fit into each of `sums` */
  double *sums;        /* of each thread: the row or block at work, a head, a tail */
  void *pi;            /* stored rows of Pi; NULL until asked for */
  int pi_mode;         /* whose they are; -1: nobody's */
  struct pd_versions pi_versions;
  double *weighing; /* of each thread: a row of B, then its share of the sum of gains */
  void *tables;     /* of pairs of short modes; NULL: none */
  uint64_t table_bytes;
  struct pd_tables_made made; /* what the tables hold */
};

/** Numbers of one row of sums: room for whole vectors. */
static inline uint64_t pd_rowsum_padded(uint64_t rank) {
  return pd_add_saturated(rank, PD_LANES_MAX - 1) / PD_LANES_MAX * PD_LANES_MAX;
}

/** Numbers of each thread in `weighing`; the last ones keep threads out of each other's lines. */
static inline uint64_t pd_rowsum_weighing(uint64_t rank) {
  return pd_add_saturated(pd_rowsum_padded(rank), 16);
}

static inline uint64_t pd_rowsum_start(const struct pd_rowsum *list, uint64_t row) {
  return pd_id_at(list->row_start, list->start_bytes, row);
}

/** The run that nonzero p belongs to. */
uint64_t pd_rowsum_run_of(const struct pd_rowsum *list, uint64_t p);

static inline uint64_t pd_rowsum_row(const struct pd_rowsum *list, uint64_t row) {
  return list->row_bytes == 0 ? row : pd_id_at(list->row_id, list->row_bytes, row);
}

/** Where the indices and the value of nonzero p are. */
static inline uint64_t pd_rowsum_place(const struct pd_rowsum *list, uint64_t p) {
  return list->place == NULL ? p : pd_id_at(list->place, list->place_bytes, p);
}

static inline uint64_t pd_rowsum_id(const struct pd_rowsum *list, int column, uint64_t p) {
  return pd_id_at(list->id[column], list->id_bytes[column], pd_rowsum_place(list, p));
}

#endif
