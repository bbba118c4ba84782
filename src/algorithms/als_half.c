/* CP-ALS with factors in bfloat16 while the fit still grows much: MTTKRP then gathers half the
 * bytes.
 *
 * The factors themselves are kept rounded (pd_linalg::halve), so MTTKRP, Gram matrices and fit are
 * of the same numbers, and an update is exact but for the rounding of what it has found: an
 * iteration's fit is the fit of its model, and its bound needs no other term. Rounding a factor
 * that solves its least-squares problem moves the squared residual by the square of what was
 * rounded away, at most (2^-9)^2 of the squared norms of the components: 4e-6 of them, far below
 * the tolerances that this is for. Half precision would leave 6e-8, but has an exponent of 5 bits,
 * so that every column would have to be scaled, and every product scaled back; a bfloat16 is the
 * upper half of a float, neither over- nor underflows, and becomes a float again by one shift.
 *
 * The first iteration is in single precision, since it scales columns by their norms after its sums
 * were taken: later ones scale by powers of two, which rounding does not notice. The time of half
 * rows ends once the fit grows by less than ten times the tolerance, or than 1e-4 where that is
 * more: tensors that few components fit have been seen to lose 8e-5 of the fit to rounding. It ends
 * too when the fit falls or a quarter of the iterations is left, so that iterations in single
 * precision make up for the rounding whatever ends the run; they alone converge. */
#include "algorithms/als_state.h"
#include "plan/stream.h"
#include <math.h>

/* Times the tolerance, or what rounding may cost where the tolerance is less. */
static const double ROUGH = 10, LEAST_TOLERANCE = 1e-5;
enum { LEAST_RANK = 3 }; /* rows of fewer columns are not padded to whole vectors */

polyad_status pd_als_half_check(polyad_context *context, const polyad_plan *plan,
                                const polyad_cp_als_options *options) {
  const struct pd_walk *walk = pd_walk_of(plan->kernels, PD_OPS_MTTKRP);
  if (!options->half_rows) return POLYAD_OK;
  if (plan->device->linalg->halve == NULL)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "half rows need a GPU; device %s found (expected cuda)", plan->device->name);
  if (plan->type != POLYAD_F32 || plan->compute != POLYAD_COMPUTE_NATIVE)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "half rows are for plans of single precision that round nothing else; expected "
                   "precision f32 and compute native");
  if (pd_plan_team(plan) != NULL || plan->members != NULL || pd_plan_streams(plan))
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "half rows are for one GPU that holds the whole tensor");
  if (walk == NULL || !walk->reads_halves) {
    char expected[PD_REASON_BYTES];
    pd_formats_of_halves(plan->device->kind, expected);
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "format %s has no kernels for half rows; expected one of: %s",
                   plan->format->name, expected);
  }
  if (options->nonnegative || options->nonnegative_modes != 0 || options->rank < LEAST_RANK)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "half rows are for factors of any sign and a rank of at least %d", LEAST_RANK);
  return POLYAD_OK;
}

static uint64_t als_half_factor_bytes(const polyad_plan *plan, int mode, uint64_t rank) {
  uint64_t stride = pd_factor_stride(plan->device, plan->type, rank);
  return pd_mul_saturated(pd_mul_saturated(plan->dims[mode], stride), sizeof(uint16_t));
}

uint64_t pd_als_half_bytes(const polyad_plan *plan, const polyad_cp_als_options *options) {
  uint64_t bytes = 0;
  for (int n = 0; n < plan->order && options->half_rows; ++n)
    bytes = pd_add_saturated(bytes, als_half_factor_bytes(plan, n, options->rank));
  return bytes;
}

polyad_status pd_als_half_create(struct pd_als *als) {
  const struct pd_device_functions *device = als->device->functions;
  for (int n = 0; n < als->order && als->options->half_rows; ++n) {
    uint64_t bytes = als_half_factor_bytes(als->plan, n, als->options->rank);
    void *halves;
    PD_TRY(device->allocate(als->context, als->device, bytes, &halves));
    als->halves[n] = halves;
    PD_TRY(device->fill_zero(als->context, als->device, halves, bytes));
  }
  return POLYAD_OK;
}

void pd_als_half_destroy(struct pd_als *als) {
  for (int n = 0; n < als->order; ++n)
    if (als->halves[n] != NULL)
      als->device->functions->release(als->context, als->device, als->halves[n]);
}

static void als_half_lend(struct pd_als *als, bool lends) {
  for (int n = 0; n < als->order; ++n)
    als->factor[n].halves = als->spare[n].halves = lends ? als->halves[n] : NULL;
  als->halving = lends;
  pd_als_forget_records(als);
}

void pd_als_half_reset(struct pd_als *als) {
  als_half_lend(als, false);
  als->was_halving = als->half_ended = false;
}

void pd_als_half_end(struct pd_als *als) {
  als_half_lend(als, false);
  als->half_ended = true;
}

/* Rounds all factors. A run that goes on from a checkpoint has them rounded already, and with them
 * the Gram matrices that the update left. */
static polyad_status als_half_begin(struct pd_als *als, bool goes_on) {
  als_half_lend(als, true);
  for (int n = 0; n < als->order; ++n) {
    PD_TRY(als->linalg->halve(als->context, als->work, &als->factor[n]));
    pd_matrix_touch(&als->factor[n]);
    if (!goes_on)
      PD_TRY(als->linalg->gram(als->context, als->work, &als->factor[n], &als->gram[n],
                               &als->peak[n]));
  }
  return POLYAD_OK;
}

/* Whether the next iteration is to be in single precision, after one or more that may not be. */
static bool als_half_over(const struct pd_als *als) {
  const struct pd_run *run = &als->run;
  int left = run->options->max_iterations - run->iteration, last = run->options->max_iterations / 4;
  if (left <= (last > 1 ? last : 1)) return true;
  if (run->iteration < 2) return false;
  return run->trace[run->iteration - 1].half_rows == 0 ||
         !(run->change >= ROUGH * fmax(run->options->tolerance, LEAST_TOLERANCE));
}

polyad_status pd_als_half_turn(struct pd_als *als) {
  int done = als->run.iteration;
  als->was_halving = done > 0 && als->run.trace[done - 1].half_rows != 0;
  if (!als->options->half_rows || als->half_ended || done == 0) return POLYAD_OK;
  if (als_half_over(als)) {
    pd_als_half_end(als);
    return POLYAD_OK;
  }
  return als->halving ? POLYAD_OK : als_half_begin(als, als->was_halving);
}
