/* Which rank a scan recommends, and why.
 *
 * Held-out errors are compared as logarithms, fold by fold: folds differ in how much there is to
 * predict, which the difference of two ranks in the same fold does not feel. The smallest rank is
 * taken that two standard errors of this difference do not tell from the best one, and whose mean
 * error is hardly above the least: where folds differ very much, as with counts, the standard error
 * alone would call a rank as good that predicts far worse.
 *
 * A model may predict well with components that mean nothing. So the choice goes down from ranks
 * whose starts disagree and whose core consistency is below zero (no superdiagonal core describes
 * the tensor, Bro and Kiers 2003) or whose components are not found again in parts of the data.
 * Large sparse tensors have models whose core consistency is far below zero and whose components
 * every start finds: these stay.
 *
 * Folds cannot tell components apart that are nearly collinear and lie under much noise, though the
 * fits may: of white noise the best tensor of rank one takes a share that is known, so that the
 * gain of every component which takes more is no noise. The rank goes up to the last such component
 * where what is left behaves as white noise, and its held-out error is the smaller one, however
 * slightly. */
#include "algorithms/rank_scan.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Differences below these are of no use, however certain they are. */
static const double least_error = 1e-6; /* of an exact model only rounding is left */
static const double least_gain = 1e-3;  /* of the logarithm of the error */
static const double most_excess = 1.1;  /* of a mean error over the least */
static const double most_error = 0.98;  /* of the best rank, beside 1 for predicting zeros */
static const double standard_errors = 2;
static const double least_stability = 0.9;
static const double least_replicability = 0.85;
static const double plausible = 50;          /* core consistency */
static const double least_of_noise = 1. / 3; /* that components take of white noise, of the bound */

struct difference {
  double mean, error; /* of the mean: its standard error */
};

static void say(polyad_rank_result *result, const char *format, ...) PD_PRINTF(2, 3);
static void say(polyad_rank_result *result, const char *format, ...) {
  size_t length = strlen(result->reason);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(result->reason + length, sizeof result->reason - length, format, arguments);
  va_end(arguments);
}

static unsigned long long rank_of(const struct pd_rank_evidence *e, int row) {
  return (unsigned long long)e->row[row].rank;
}

/* Row -1 predicts zeros, with error 1. NaN where the fold has no error. */
static double log_error(const struct pd_rank_evidence *e, int row, int fold) {
  if (row < 0) return 0;
  double error = e->error[row * e->folds + fold];
  return isnan(error) ? NAN : log(fmax(error, least_error));
}

/* Of the logarithms of two ranks' errors. */
static struct difference rank_advice_compare(const struct pd_rank_evidence *e, int row, int other) {
  double sum = 0, squares = 0;
  int count = 0;
  for (int f = 0; f < e->folds; ++f) {
    double d = log_error(e, row, f) - log_error(e, other, f);
    if (isnan(d)) continue;
    sum += d;
    squares += d * d;
    ++count;
  }
  if (count < 2) return (struct difference){NAN, NAN};
  double mean = sum / count, variance = fmax(squares - sum * mean, 0) / (count - 1);
  return (struct difference){mean, sqrt(variance / count)};
}

/* The row whose held-out error is the least; -1 when there are no errors. */
static int rank_advice_find_least(const struct pd_rank_evidence *e) {
  int best = -1;
  double least = INFINITY;
  for (int k = 0; k < e->rows; ++k) {
    double mean = rank_advice_compare(e, k, -1).mean;
    if (mean < least) {
      least = mean;
      best = k;
    }
  }
  return best;
}

/* Whether components cannot be told apart, or from noise. */
static bool collapses(const polyad_rank_row *row) {
  if (row->stability >= least_stability) return false;
  return row->core_consistency < 0 || row->replicability < least_replicability;
}

/* ---- with held-out errors ------------------------------------------------------------------- */

static bool predicts_nothing(const struct pd_rank_evidence *e, int best) {
  struct difference gain = rank_advice_compare(e, -1, best);
  return gain.mean < -log(most_error) || gain.mean < standard_errors * gain.error;
}

/* The first row that is as good as the best. */
static int find_smallest(const struct pd_rank_evidence *e, int best) {
  for (int k = 0; k < best; ++k) {
    struct difference worse = rank_advice_compare(e, k, best);
    if (worse.mean <= fmax(standard_errors * worse.error, least_gain) &&
        e->row[k].holdout_error <= most_excess * fmax(e->row[best].holdout_error, least_error))
      return k;
  }
  return best;
}

/* The share of ||X||^2 that the model leaves; row -1 has no components. */
static double residual_of(const struct pd_rank_evidence *e, int row) {
  return row < 0 ? 1 : (1 - e->row[row].fit_best) * (1 - e->row[row].fit_best);
}

/* The share of ||X||^2 that a component of this row has brought, beside the most that it would be
 * expected to take of white noise with the row's residual. For v the noise's variance, the expected
 * norm of its best tensor of rank one is at most sqrt(v) times the sum of the square roots of the
 * modes' lengths (by the inequality of Sudakov and Fernique). */
static double gain_over_noise(const struct pd_rank_evidence *e, int row) {
  double cells = 1, numbers = 1, roots = 0;
  for (int n = 0; n < e->order; ++n) {
    cells *= (double)e->dims[n];
    numbers += (double)e->dims[n] - 1;
    roots += sqrt((double)e->dims[n]);
  }
  double rank = (double)e->row[row].rank;
  double more = row > 0 ? rank - (double)e->row[row - 1].rank : rank;
  double left = cells - rank * numbers; /* cells that the model's numbers do not take up */
  double residual = residual_of(e, row), gained = residual_of(e, row - 1) - residual;
  if (!(left > 0) || (residual == 0 && gained == 0)) return NAN;
  return gained / more / (residual / left * roots * roots);
}

/* The last row whose components take more than they would of white noise; -1 where there is none,
 * or where what is left is not white: then two larger ranks or more, all that follow, take about as
 * much as they would of white noise. */
static int find_last_signal(const struct pd_rank_evidence *e) {
  int k = e->rows - 1;
  for (; k >= 0 && e->order > 0; --k) {
    double gain = gain_over_noise(e, k);
    if (isnan(gain) || gain < least_of_noise) return -1;
    if (gain > 1) break;
  }
  return e->rows - 1 - k >= 2 ? k : -1;
}

static void explain_prediction(const struct pd_rank_evidence *e, int smallest, int best,
                               polyad_rank_result *result) {
  const polyad_rank_row *row = e->row;
  if (smallest == 0 && row[0].rank == 1)
    say(result, "no rank above 1 stands out: one component predicts held-out cells with error %.3g",
        row[0].holdout_error);
  else if (smallest == 0)
    say(result, "rank %llu, the smallest that was tried, predicts held-out cells with error %.3g",
        rank_of(e, 0), row[0].holdout_error);
  else
    say(result,
        "the error of predicting held-out cells falls until rank %llu (%.3g; rank %llu: %.3g)",
        rank_of(e, smallest), row[smallest].holdout_error, rank_of(e, smallest - 1),
        row[smallest - 1].holdout_error);
  if (smallest == e->rows - 1 && e->rows > 1)
    say(result, ", the largest that was tried; larger ones may be better");
  else if (best != smallest)
    say(result, ", and more components do no better (least: %.3g at rank %llu)",
        row[best].holdout_error, rank_of(e, best));
  else if (smallest < e->rows - 1)
    say(result, ", and more components do no better");
}

static void explain_collapse(const polyad_rank_row *row, polyad_rank_result *result) {
  say(result, "; but at rank %llu ", (unsigned long long)row->rank);
  if (row->core_consistency < 0)
    say(result, "the components cannot be told apart: its core consistency is %.3g",
        row->core_consistency);
  else
    say(result, "the components are not those of parts of the data: its replicability is %.2f",
        row->replicability);
  say(result, ", and its starts disagree (stability %.2f)", row->stability);
}

static void explain_signal(const struct pd_rank_evidence *e, int signal, int chosen,
                           polyad_rank_result *result) {
  say(result,
      "the fit grows until rank %llu by more than white noise explains, and beyond by no more; "
      "held-out cells are predicted better than with rank %llu (%.4g; %.4g), to which prediction "
      "and starts alone would lead; its core consistency is %.3g",
      rank_of(e, signal), rank_of(e, chosen), e->row[signal].holdout_error,
      e->row[chosen].holdout_error, e->row[signal].core_consistency);
}

static int choose_by_prediction(const struct pd_rank_evidence *e, polyad_rank_result *result) {
  int best = rank_advice_find_least(e);
  if (predicts_nothing(e, best)) {
    say(result,
        "no rank stands out: at best, with rank %llu, held-out cells are predicted with error "
        "%.4g; zeros have error 1",
        rank_of(e, best), e->row[best].holdout_error);
    return -1;
  }
  int smallest = find_smallest(e, best), chosen = smallest;
  while (chosen > 0 && collapses(&e->row[chosen]))
    --chosen;
  int signal = find_last_signal(e);
  if (signal > chosen && rank_advice_compare(e, signal, chosen).mean < 0) {
    explain_signal(e, signal, chosen, result);
    return signal;
  }
  explain_prediction(e, smallest, best, result);
  if (chosen == 0 && collapses(&e->row[0])) {
    say(result, "; but at every rank that was tried the components cannot be told apart, or from "
                "noise: try smaller ranks");
    return -1;
  }
  if (chosen < smallest) explain_collapse(&e->row[chosen + 1], result);
  if (!isnan(e->row[chosen].core_consistency))
    say(result, "; the core consistency of rank %llu is %.3g", rank_of(e, chosen),
        e->row[chosen].core_consistency);
  return chosen;
}

/* ---- without -------------------------------------------------------------------------------- */

static bool is_plausible(const polyad_rank_row *row) {
  bool stable = isnan(row->stability) || row->stability >= least_stability;
  bool superdiagonal = isnan(row->core_consistency) || row->core_consistency >= plausible;
  return stable && superdiagonal;
}

static int choose_by_consistency(const struct pd_rank_evidence *e, polyad_rank_result *result) {
  int chosen = e->rows - 1;
  while (chosen >= 0 && !is_plausible(&e->row[chosen]))
    --chosen;
  if (chosen < 0) {
    say(result,
        "no rank stands out: none has a core consistency of at least %g and starts that end in "
        "the same model (stability of at least %g)",
        plausible, least_stability);
    return -1;
  }
  const polyad_rank_row *row = &e->row[chosen];
  if (isnan(row->core_consistency) && isnan(row->stability)) {
    say(result, "no rank stands out: nothing but the fit is known, which grows with every rank");
    return -1;
  }
  say(result, "rank %llu is the largest with", rank_of(e, chosen));
  if (!isnan(row->core_consistency))
    say(result, " a core consistency of at least %g (%.3g)", plausible, row->core_consistency);
  if (!isnan(row->core_consistency) && !isnan(row->stability)) say(result, " and");
  if (!isnan(row->stability)) say(result, " a stability of at least %g", least_stability);
  if (chosen == e->rows - 1) say(result, ", and the largest that was tried");
  return chosen;
}

void pd_rank_advise(const struct pd_rank_evidence *evidence, polyad_rank_result *result) {
  result->recommended = 0;
  result->reason[0] = '\0';
  if (evidence->rows == 0) {
    say(result, "no rank was tried to its end");
    return;
  }
  bool predicted = evidence->folds > 0 && rank_advice_find_least(evidence) >= 0;
  int chosen =
      predicted ? choose_by_prediction(evidence, result) : choose_by_consistency(evidence, result);
  if (chosen < 0) return;
  const polyad_rank_row *row = &evidence->row[chosen];
  result->recommended = row->rank;
  if (isnan(row->stability)) return;
  if (row->stability < least_stability)
    say(result,
        "; its starts end in different models (stability %.2f), so take the best of many starts",
        row->stability);
  else if (row->starts_at_best < row->starts)
    say(result, "; the %d of %d starts that came to its fit agree (stability %.2f)",
        row->starts_at_best, row->starts, row->stability);
  else
    say(result, "; its starts agree (stability %.2f)", row->stability);
}
