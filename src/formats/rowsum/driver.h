/* Between the parts of the summing machinery: one table per instruction set. */
#ifndef PD_ROWSUM_DRIVER_H
#define PD_ROWSUM_DRIVER_H

#include "formats/rowsum/kernel.h"

/** One thread's share of the nonzeros. */
struct pd_rowsum_part {
  uint64_t begin, end; /* nonzeros */
  uint64_t row;        /* the row of the first of them */
  double *sums;        /* of the row at work */
  double *head;        /* of a row that began in an earlier part */
  double *tail;        /* of a row that goes on in a later part */
};

struct pd_rowsum_isa {
  const char *name;
  int (*lanes)(polyad_type type, uint64_t rank);
  pd_run_function *(*pick)(polyad_type type, int lanes, int vectors);
  void (*drive)(const struct pd_rowsum_job *job, const struct pd_column_blocks *blocks,
                const struct pd_rowsum_part *part);
  /** Writes sums (in the order of the column blocks) as row `index` of `out`. */
  void (*write_row)(const struct pd_rowsum_job *job, const struct pd_column_blocks *blocks,
                    const double *sums, uint64_t index);
};

extern const struct pd_rowsum_isa pd_rowsum_portable;
extern const struct pd_rowsum_isa pd_rowsum_avx2;
extern const struct pd_rowsum_isa pd_rowsum_avx512;

static inline uint64_t pd_rowsum_start(const struct pd_rowsum *list, uint64_t row) {
  return list->start_bytes == 4 ? ((const uint32_t *)list->row_start)[row]
                                : ((const uint64_t *)list->row_start)[row];
}

static inline uint64_t pd_rowsum_row(const struct pd_rowsum *list, uint64_t row) {
  return list->row_bytes == 4 ? ((const uint32_t *)list->row_id)[row]
                              : ((const uint64_t *)list->row_id)[row];
}

static inline uint64_t pd_rowsum_id(const struct pd_rowsum *list, int column, uint64_t p) {
  if (list->id_bytes[column] == 2) return ((const uint16_t *)list->id[column])[p];
  if (list->id_bytes[column] == 4) return ((const uint32_t *)list->id[column])[p];
  return ((const uint64_t *)list->id[column])[p];
}

#endif
