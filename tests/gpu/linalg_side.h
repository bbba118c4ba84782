/* A small problem of the dense algebra on one device, and the calls that an iteration makes. */
#ifndef LINALG_SIDE_H
#define LINALG_SIDE_H

#include "linalg/linalg.h"
#include <polyad/polyad.h>

/* What the calls read and write; `work` has the scalars that come out. */
struct linalg_side {
  polyad_context *context;
  const struct pd_device *device;
  struct pd_linalg_work *work;
  struct pd_matrix x, m, other, v, lambda, gram, peak, slices;
  bool prepared; /* what the next update tells of itself */
};

/** A number from 0 to 1, the next of a sequence. */
double linalg_side_noise(uint64_t *state);

/** Makes a matrix on the side's device from numbers of the host. */
void linalg_side_matrix(struct linalg_side *side, struct pd_matrix *matrix, polyad_type type,
                        uint64_t rows, uint64_t columns, const double *from);

/** `v` is a Gram matrix of `rank - missing` independent columns, the others copies of the first.
 * The noise of n columns has singular values of up to sqrt(n / 3) beside that of its mean: 18 for
 * 1,024, which a diagonal of 40 keeps away from zero. */
void linalg_side_make(struct linalg_side *side, const char *device, polyad_type type, uint64_t rows,
                      uint64_t rank, uint64_t missing);
void linalg_side_free(struct linalg_side *side);

struct pd_norm linalg_side_norm_of(const struct linalg_side *side, int count,
                                   const struct pd_matrix *const *grams, bool spreads);
/** An update of `x`; of HALS where there is an m. Slices count in SPREAD. What v is made from is
 * its Gram matrix alone. */
struct pd_update linalg_side_update_of(struct linalg_side *side, double damp,
                                       const struct pd_matrix *before, const struct pd_matrix *m,
                                       struct pd_matrix *x, enum pd_scaling scaling,
                                       const struct pd_matrix *const *grams);
/** The update and the model's norm that follows it. */
polyad_status linalg_side_update(struct linalg_side *side, double damp,
                                 const struct pd_matrix *before, const struct pd_matrix *m,
                                 struct pd_matrix *x, enum pd_scaling scaling);

/** A matrix's numbers on the host; the caller frees them. */
double *linalg_side_to_doubles(struct linalg_side *side, const struct pd_matrix *matrix);
/** Fails where the largest difference is over `bound` times the largest entry. */
void linalg_side_compare(struct linalg_side *cpu, const struct pd_matrix *a,
                         struct linalg_side *gpu, const struct pd_matrix *b, double bound,
                         const char *what);

#endif
