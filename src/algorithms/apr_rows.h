/* For the methods of CP-APR that solve a small problem for each row of a factor: maximise the sum
 * of x_j log(m . pi_j) minus the sum of m over m >= 0. */
#ifndef PD_APR_ROWS_H
#define PD_APR_ROWS_H

#include "algorithms/apr_state.h"
#include "engine/row.h"

struct pd_row_reader;

/** One row's problem, and the scratch memory of the thread that solves it. Everything is double,
 *  whatever the plan's type. */
struct pd_apr_row {
  uint64_t count; /* nonzeros of the row */
  size_t rank;
  struct pd_loss loss; /* of counts, with epsilon */
  struct pd_row_reader *reader;
  double *pi;   /* count x rank: rows of Pi */
  double *x;    /* count */
  double *dots; /* count: m . pi_j of the row m that was evaluated last */
  double *m, *gradient, *phi, *direction, *next; /* rank */
  double *extra;                                 /* of the method; see pd_apr_row_extra() */
};

/** What solving one row tells. */
struct pd_apr_row_result {
  double kkt;     /* violation at the start (PQNR: after the first gradient step) */
  uint64_t inner; /* iterations */
  bool changed;
};

/** Improves row->m. */
typedef struct pd_apr_row_result pd_apr_row_solver(const struct pd_apr *apr,
                                                   struct pd_apr_row *row);

polyad_status pd_apr_rows_create(struct pd_apr *apr, struct pd_apr_rows **rows);
void pd_apr_rows_destroy(polyad_context *context, struct pd_apr_rows *rows);

/** Solves every row of every mode once, the rows spread over threads; fills apr->result. */
polyad_status pd_apr_rows_iterate(struct pd_apr *apr, pd_apr_row_solver *solver);

/** Numbers of `extra` that either method needs. */
uint64_t pd_apr_row_extra(const polyad_cp_apr_options *options);

/** The row's nonzeros, with the models dots[]. */
static inline struct pd_row_terms pd_apr_row_terms(const struct pd_apr_row *row) {
  return (struct pd_row_terms){.count = row->count,
                               .rank = row->rank,
                               .stride = row->rank,
                               .product = row->pi,
                               .value = row->x,
                               .model = row->dots};
}

/** gradient = 1 - phi, with phi = the sum over j of x_j / max(m . pi_j, epsilon) times pi_j; fills
 *  dots too. Returns the violation, the largest |min(m, gradient)|. */
double pd_apr_row_gradient(struct pd_apr_row *row);

/** What a search along row->direction found: the objective is what is minimised. */
struct pd_apr_search {
  double before; /* objective at m */
  double unit;   /* at the projected unit step; `before` when that was no descent */
};

/** Moves row->m along the direction, projected onto m >= 0, by the first of the steps 1, 1/2, 1/4,
 *  ... (ten at most) with a sufficient decrease; when there is none, by a multiplicative update
 *  (Hansen, Plantenga and Kolda 2015, section 4). Needs gradient and phi of row->m. */
struct pd_apr_search pd_apr_row_search(struct pd_apr_row *row);

/** Which variables the bound holds (Bertsekas 1982): those within min(active_tolerance, length of
 *  the projected gradient step) of it whose gradient pushes them there. */
void pd_apr_row_active(const struct pd_apr_row *row, double active_tolerance, bool *active);

#endif
