/* State of one CP-APR run: the model, Phi, and what outer iterations need. */
#ifndef PD_APR_STATE_H
#define PD_APR_STATE_H

#include "algorithms/method.h"
#include "linalg/linalg.h"
#include "plan/plan.h"
#include "tensor/ktensor.h"
#include <polyad/cp_apr.h>

struct pd_apr_rows;
struct pd_apr_there;

/** Steps whose time is taken. */
enum pd_apr_step { PD_APR_PHI, PD_APR_PI, PD_APR_KKT, PD_APR_MU, PD_APR_STEPS };

/** What an outer iteration found. */
struct pd_apr_result {
  double log_likelihood;
  double kkt;     /* the largest violation of any mode */
  uint64_t inner; /* inner iterations */
  bool converged; /* by the tolerance asked for no mode had to be changed */
};

struct pd_apr {
  polyad_context *context;
  const polyad_plan *plan;
  const polyad_cp_apr_options *options;
  const struct pd_device *device;
  const struct pd_linalg *linalg;
  polyad_workspace *workspace; /* MU */
  struct pd_linalg_work *work;
  struct pd_apr_rows *rows;   /* PDNR and PQNR: what solving row by row needs */
  struct pd_apr_there *there; /* the same on a device with memory of its own; NULL: on the CPU */
  int order;

  polyad_ktensor *whole;                     /* see struct pd_als */
  polyad_ktensor *model;                     /* its arrays are the factors' memory where they can */
  struct pd_matrix factor[POLYAD_MAX_ORDER]; /* columns of 1-norm one; while its mode is updated:
                                                B, with the weights in it */
  struct pd_matrix phi[POLYAD_MAX_ORDER];    /* MU: of the last inner iteration */
  struct pd_matrix lambda;                   /* 1 x R */
  /* MU: the sum of x log m, and for each mode the two numbers that a recorded loop of inner
     iterations leaves (struct pd_loop). */
  struct pd_matrix outcomes;
  struct pd_matrix logarithms; /* 1 x 1: the first of them */
  void *record;                /* an iteration, where the device records */
  bool unrecordable;           /* the device's driver has no loops */
  const struct pd_matrix *factor_list[POLYAD_MAX_ORDER];
  double *host_lambda; /* R numbers */

  struct pd_run run;
  struct pd_apr_result result;
  double row_tolerance; /* PDNR: rows with a smaller violation are left alone */

  double seconds[PD_APR_STEPS][POLYAD_MAX_ORDER]; /* sums over timed_iterations */
  int timed_iterations;
};

/** By polyad_apr_method. */
extern const struct pd_method pd_apr_methods[];

polyad_status pd_apr_create(polyad_context *context, const polyad_plan *plan,
                            const polyad_cp_apr_options *options, struct pd_apr **apr);
void pd_apr_destroy(struct pd_apr *apr);

/** The first model of a start, with columns of 1-norm one, on the device. */
polyad_status pd_apr_start(void *apr, int start);
/** Brings the model to the host. */
polyad_status pd_apr_download(struct pd_apr *apr);
/** The numbers that iterations go on from. */
polyad_status pd_apr_save(void *apr, struct pd_archive *archive);

/** One outer iteration of each method; fills apr->result. */
polyad_status pd_apr_iterate_mu(struct pd_apr *apr);
polyad_status pd_apr_iterate_pdnr(struct pd_apr *apr);
polyad_status pd_apr_iterate_pqnr(struct pd_apr *apr);
/** The most iterations of a row in this outer iteration. */
int pd_apr_row_most(const struct pd_apr *apr);

/** Scales the columns of the model on the host to 1-norm one; of a team's model, of all rows. */
polyad_status pd_apr_normalize(struct pd_apr *apr);

/** Log-likelihood of the first model, for runs without iterations. */
polyad_status pd_apr_guess(void *apr);
/** Undoes the plan's scaling of values: the log-likelihood from the sum of x log m and the model's
 *  mass, both as the kernels see them. */
double pd_apr_log_likelihood(const struct pd_apr *apr, double logarithms, double mass);

/** Times a step: between the two calls the device does nothing else. Devices with clocks of their
 *  own have to be waited for, so there only the first two iterations are timed. */
polyad_status pd_apr_tick(struct pd_apr *apr, double *clock);
polyad_status pd_apr_tock(struct pd_apr *apr, double clock, enum pd_apr_step step, int mode);

#endif
