#include "oracle/apr_oracle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef long double real;

/* One mode's matricised data and Khatri-Rao product. */
struct unfolded {
  size_t rows, columns, rank;
  real *x;  /* rows x columns */
  real *pi; /* columns x rank */
};

static real *numbers(size_t count) { return calloc(count + 1, sizeof(real)); }

struct oracle_apr_options oracle_apr_defaults(char method) {
  return (struct oracle_apr_options){.method = method,
                                     .inner = 10,
                                     .tolerance = (real)1e-4,
                                     .epsilon = (real)1e-10,
                                     .kappa = (real)1e-2,
                                     .kappa_tolerance = (real)1e-10,
                                     .active = (real)1e-8,
                                     .damping = (real)1e-5,
                                     .inexact = true};
}

/* Sums of the columns of mode n go into lambda; `keep`: lambda times them, else only them. */
static void normalise(struct oracle_apr *apr, int n, bool keep) {
  for (size_t r = 0; r < apr->rank; ++r) {
    real sum = 0;
    for (size_t i = 0; i < apr->dims[n]; ++i)
      sum += apr->factor[n][i * apr->rank + r];
    for (size_t i = 0; sum > 0 && i < apr->dims[n]; ++i)
      apr->factor[n][i * apr->rank + r] /= sum;
    apr->lambda[r] = keep ? apr->lambda[r] * sum : sum;
  }
}

void oracle_apr_start(struct oracle_apr *apr, struct oracle_apr_options options, int order,
                      const size_t *dims, size_t rank, const double *x,
                      const double *const *factors) {
  *apr = (struct oracle_apr){.options = options,
                             .order = order,
                             .rank = rank,
                             .cells = 1,
                             .x = x,
                             .row_tolerance = options.tolerance};
  apr->lambda = numbers(rank);
  for (size_t r = 0; r < rank; ++r)
    apr->lambda[r] = 1;
  for (int n = 0; n < order; ++n) {
    apr->dims[n] = dims[n];
    apr->cells *= dims[n];
    apr->factor[n] = numbers(dims[n] * rank);
    apr->phi[n] = numbers(dims[n] * rank);
    for (size_t k = 0; k < dims[n] * rank; ++k)
      apr->factor[n][k] = factors[n][k];
    for (size_t i = 0; options.method != 'm' && i < dims[n]; ++i) {
      real sum = 0;
      for (size_t r = 0; r < rank; ++r)
        sum += apr->factor[n][i * rank + r];
      if (sum == 0) apr->factor[n][i * rank] = (real)1e-8;
    }
    normalise(apr, n, true);
  }
}

void oracle_apr_end(struct oracle_apr *apr) {
  free(apr->lambda);
  for (int n = 0; n < apr->order; ++n) {
    free(apr->factor[n]);
    free(apr->phi[n]);
  }
}

static struct unfolded unfold(const struct oracle_apr *apr, int mode) {
  struct unfolded u = {.rows = apr->dims[mode], .rank = apr->rank};
  u.columns = apr->cells / u.rows;
  u.x = numbers(u.rows * u.columns);
  u.pi = numbers(u.columns * u.rank);
  for (size_t cell = 0; cell < apr->cells; ++cell) {
    size_t index[ORACLE_APR_MODES], rest = cell, column = 0;
    for (int n = apr->order - 1; n >= 0; --n) {
      index[n] = rest % apr->dims[n];
      rest /= apr->dims[n];
    }
    for (int n = 0; n < apr->order; ++n)
      if (n != mode) column = column * apr->dims[n] + index[n];
    u.x[index[mode] * u.columns + column] = apr->x[cell];
    for (size_t r = 0; r < u.rank; ++r) {
      real product = 1;
      for (int n = 0; n < apr->order; ++n)
        if (n != mode) product *= apr->factor[n][index[n] * u.rank + r];
      u.pi[column * u.rank + r] = product;
    }
  }
  return u;
}

static real model(const struct unfolded *u, const real *m, size_t j) {
  real sum = 0;
  for (size_t r = 0; r < u->rank; ++r)
    sum += m[r] * u->pi[j * u->rank + r];
  return sum;
}

static void find_phi(const struct unfolded *u, size_t i, const real *m, real epsilon, real *phi) {
  for (size_t r = 0; r < u->rank; ++r)
    phi[r] = 0;
  for (size_t j = 0; j < u->columns; ++j) {
    real value = u->x[i * u->columns + j];
    if (value == 0) continue;
    real weight = value / fmaxl(model(u, m, j), epsilon);
    for (size_t r = 0; r < u->rank; ++r)
      phi[r] += weight * u->pi[j * u->rank + r];
  }
}

static real violation(const real *m, const real *phi, size_t count) {
  real most = 0;
  for (size_t k = 0; k < count; ++k)
    most = fmaxl(most, fabsl(fminl(m[k], 1 - phi[k])));
  return most;
}

/* The sum of m minus the sum of x log m: what is minimised. */
static real objective(const struct unfolded *u, size_t i, const real *m) {
  real value = 0;
  for (size_t r = 0; r < u->rank; ++r)
    value += m[r];
  for (size_t j = 0; j < u->columns; ++j)
    if (u->x[i * u->columns + j] != 0) value -= u->x[i * u->columns + j] * logl(model(u, m, j));
  return value;
}

/* ---- multiplicative updates ---------------------------------------------------------------- */

static void multiply_mode(struct oracle_apr *apr, int n, const struct unfolded *u, real *mode_kkt) {
  const struct oracle_apr_options *o = &apr->options;
  size_t count = u->rows * u->rank;
  real *b = apr->factor[n], *phi = apr->phi[n];
  for (int inner = 0; inner < o->inner; ++inner) {
    apr->inner += 1;
    for (size_t i = 0; i < u->rows; ++i)
      find_phi(u, i, b + i * u->rank, o->epsilon, phi + i * u->rank);
    *mode_kkt = violation(b, phi, count);
    if (*mode_kkt < o->tolerance) break;
    apr->converged = false;
    for (size_t k = 0; k < count; ++k)
      b[k] *= phi[k];
  }
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct searched {
  real before, unit;
};

/* Backtracking along d, projected; a multiplicative step when it fails. */
static struct searched search(const struct unfolded *u, size_t i, const real *d, const real *phi,
                              real *m) {
  struct searched found = {objective(u, i, m), 0};
  real *next = numbers(u->rank), value = 0, step = 1, sum = 0;
  int count = 1;
  for (; count <= 10; ++count, step /= 2) {
    real slope = 0;
    sum = 0;
    for (size_t r = 0; r < u->rank; ++r) {
      next[r] = fmaxl(m[r] + step * d[r], 0);
      slope += (1 - phi[r]) * (next[r] - m[r]);
      sum += next[r];
    }
    value = slope > 0 || sum < (real)1e-7 ? (real)INFINITY : objective(u, i, next);
    if (count == 1) found.unit = value;
    if (!isinf(value) && value <= found.before + (real)1e-4 * slope) break;
  }
  if (isinf(found.unit)) found.unit = found.before;
  if ((count >= 10 && value > found.before) || sum < (real)1e-7) {
    for (size_t r = 0; r < u->rank; ++r)
      next[r] = m[r] * phi[r];
    found.unit = found.before;
  }
  memcpy(m, next, u->rank * sizeof *m);
  free(next);
  return found;
}

static void find_active(const real *m, const real *phi, size_t rank, real tolerance, bool *active) {
  real square = 0;
  for (size_t r = 0; r < rank; ++r) {
    real moved = fmaxl(m[r] - (1 - phi[r]), 0);
    square += (m[r] - moved) * (m[r] - moved);
  }
  for (size_t r = 0; r < rank; ++r)
    active[r] = 1 - phi[r] > 0 && m[r] <= fminl(tolerance, sqrtl(square));
}

/* a x = b by Gaussian elimination with pivoting; a and b are overwritten, the result is in b. */
static void eliminate(real *a, real *b, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < count; ++i)
      if (fabsl(a[i * count + k]) > fabsl(a[pivot * count + k])) pivot = i;
    for (size_t j = 0; j < count; ++j) {
      real swap = a[k * count + j];
      a[k * count + j] = a[pivot * count + j];
      a[pivot * count + j] = swap;
    }
    real swap = b[k];
    b[k] = b[pivot];
    b[pivot] = swap;
    for (size_t i = k + 1; i < count; ++i) {
      real factor = a[i * count + k] / a[k * count + k];
      for (size_t j = k; j < count; ++j)
        a[i * count + j] -= factor * a[k * count + j];
      b[i] -= factor * b[k];
    }
  }
  for (size_t k = count; k-- > 0;) {
    for (size_t j = k + 1; j < count; ++j)
      b[k] -= a[k * count + j] * b[j];
    b[k] /= a[k * count + k];
  }
}

/* The damped Newton direction; returns the predicted change of the quadratic model, which at its
 * minimum is half the slope. */
static real newton_direction(const struct oracle_apr *apr, const struct unfolded *u, size_t i,
                             const real *m, const real *phi, real mu, real *d) {
  size_t rank = u->rank, count = 0, which[64];
  bool active[64];
  real a[64 * 64], b[64], predicted = 0;
  find_active(m, phi, rank, apr->options.active, active);
  for (size_t r = 0; r < rank; ++r) {
    d[r] = active[r] && m[r] != 0 ? -(1 - phi[r]) : 0;
    if (!active[r]) which[count++] = r;
  }
  for (size_t p = 0; p < count; ++p) {
    b[p] = -(1 - phi[which[p]]);
    for (size_t q = 0; q < count; ++q) {
      real sum = p == q ? mu : 0;
      for (size_t j = 0; j < u->columns; ++j) {
        real at = model(u, m, j), value = u->x[i * u->columns + j];
        sum += value / fmaxl(at * at, apr->options.epsilon) * u->pi[j * rank + which[p]] *
               u->pi[j * rank + which[q]];
      }
      a[p * count + q] = sum;
    }
  }
  eliminate(a, b, count);
  for (size_t p = 0; p < count; ++p) {
    d[which[p]] = b[p];
    predicted += b[p] * (1 - phi[which[p]]) / 2;
  }
  return predicted;
}

static real newton_row(struct oracle_apr *apr, const struct unfolded *u, size_t i, real *m) {
  const struct oracle_apr_options *o = &apr->options;
  real mu = o->damping, first = 0, phi[64], d[64];
  int most = o->inexact && apr->iteration == 0 && o->inner > 2 ? 2 : o->inner;
  for (int inner = 0; inner < most; ++inner) {
    apr->inner += 1;
    find_phi(u, i, m, o->epsilon, phi);
    real kkt = violation(m, phi, u->rank);
    if (inner == 0) first = kkt;
    if (kkt < apr->row_tolerance) break;
    apr->converged = false;
    real predicted = newton_direction(apr, u, i, m, phi, mu, d);
    struct searched found = search(u, i, d, phi, m);
    real ratio = (found.before - found.unit) / -predicted;
    if (predicted == 0)
      mu *= 10;
    else if (ratio < (real)0.25)
      mu *= (real)3.5;
    else if (ratio > (real)0.75)
      mu *= (real)2 / 7;
  }
  return first;
}

static real dot(const real *a, const real *b, size_t count) {
  real sum = 0;
  for (size_t r = 0; r < count; ++r)
    sum += a[r] * b[r];
  return sum;
}

/* The inverse Hessian of L-BFGS times the negative gradient: recursion over the pairs, the newest
 * last. H_k g = V' H_{k-1} V g + rho s s' g. */
static void quasi(const real (*s)[64], const real (*y)[64], int pairs, size_t rank, real *g) {
  if (pairs == 0) return;
  const real *step = s[pairs - 1], *change = y[pairs - 1];
  real rho = 1 / dot(step, change, rank), along = rho * dot(step, g, rank);
  for (size_t r = 0; r < rank; ++r)
    g[r] -= along * change[r];
  quasi(s, y, pairs - 1, rank, g);
  real back = rho * dot(change, g, rank);
  for (size_t r = 0; r < rank; ++r)
    g[r] += (along - back) * step[r];
}

/* `quasi` with the scaled unit matrix of the newest pair at its heart. */
static void quasi_direction(const real (*s)[64], const real (*y)[64], int pairs, size_t rank,
                            real *g) {
  if (pairs == 0) return;
  const real *step = s[pairs - 1], *change = y[pairs - 1];
  real scale = dot(step, change, rank) / dot(change, change, rank);
  real scaled[ORACLE_APR_PAIRS][64];
  /* In variables divided by sqrt(scale) the heart is the unit matrix. */
  real root = sqrtl(scale), other[ORACLE_APR_PAIRS][64];
  for (int k = 0; k < pairs; ++k)
    for (size_t r = 0; r < rank; ++r) {
      scaled[k][r] = s[k][r] / root;
      other[k][r] = y[k][r] * root;
    }
  for (size_t r = 0; r < rank; ++r)
    g[r] *= root;
  quasi((const real(*)[64])scaled, (const real(*)[64])other, pairs, rank, g);
  for (size_t r = 0; r < rank; ++r)
    g[r] *= root;
}

static real quasi_row(struct oracle_apr *apr, const struct unfolded *u, size_t i, real *m) {
  const struct oracle_apr_options *o = &apr->options;
  size_t rank = u->rank;
  real s[ORACLE_APR_PAIRS][64], y[ORACLE_APR_PAIRS][64], old[64], before[64], phi[64], d[64];
  real first = 0;
  int pairs = 0;
  bool active[64];
  find_phi(u, i, m, o->epsilon, before);
  memcpy(old, m, rank * sizeof *m);
  for (size_t r = 0; r < rank; ++r)
    d[r] = -(1 - before[r]);
  search(u, i, d, before, m);
  for (int inner = 0; inner < o->inner; ++inner) {
    apr->inner += 1;
    find_phi(u, i, m, o->epsilon, phi);
    real kkt = violation(m, phi, rank), product = 0;
    if (inner == 0) first = kkt;
    if (kkt < o->tolerance) break;
    apr->converged = false;
    for (size_t r = 0; r < rank; ++r)
      product += (m[r] - old[r]) * (before[r] - phi[r]);
    if (product > 0 && !isinf(1 / product)) {
      if (pairs == ORACLE_APR_PAIRS) {
        memmove(s[0], s[1], sizeof s[0] * (ORACLE_APR_PAIRS - 1));
        memmove(y[0], y[1], sizeof y[0] * (ORACLE_APR_PAIRS - 1));
        pairs -= 1;
      }
      for (size_t r = 0; r < rank; ++r) {
        s[pairs][r] = m[r] - old[r];
        y[pairs][r] = before[r] - phi[r];
      }
      pairs += 1;
    }
    find_active(m, phi, rank, o->active, active);
    for (size_t r = 0; r < rank; ++r)
      d[r] = active[r] ? 0 : -(1 - phi[r]);
    quasi_direction((const real(*)[64])s, (const real(*)[64])y, pairs, rank, d);
    for (size_t r = 0; r < rank; ++r)
      if (active[r]) d[r] = 0;
    memcpy(old, m, rank * sizeof *m);
    memcpy(before, phi, rank * sizeof *phi);
    search(u, i, d, phi, m);
  }
  return first;
}

static void solve_rows(struct oracle_apr *apr, int n, const struct unfolded *u, real *mode_kkt) {
  for (size_t i = 0; i < u->rows; ++i) {
    real *m = apr->factor[n] + i * u->rank, total = 0;
    for (size_t j = 0; j < u->columns; ++j)
      total += u->x[i * u->columns + j];
    if (total == 0) {
      memset(m, 0, u->rank * sizeof *m);
      continue;
    }
    real kkt = apr->options.method == 'n' ? newton_row(apr, u, i, m) : quasi_row(apr, u, i, m);
    *mode_kkt = fmaxl(*mode_kkt, kkt);
  }
}

/* ---- outer iterations ------------------------------------------------------------------------ */

static void weigh(struct oracle_apr *apr, int n) {
  const struct oracle_apr_options *o = &apr->options;
  for (size_t k = 0; k < apr->dims[n] * apr->rank; ++k) {
    bool shifts = o->method == 'm' && apr->iteration > 0 && apr->phi[n][k] > 1 &&
                  apr->factor[n][k] < o->kappa_tolerance;
    apr->factor[n][k] = (apr->factor[n][k] + (shifts ? o->kappa : 0)) * apr->lambda[k % apr->rank];
  }
}

void oracle_apr_iterate(struct oracle_apr *apr) {
  apr->kkt = 0;
  apr->inner = 0;
  apr->converged = apr->row_tolerance <= apr->options.tolerance;
  for (int n = 0; n < apr->order; ++n) {
    real mode_kkt = 0;
    struct unfolded u = unfold(apr, n);
    weigh(apr, n);
    if (apr->options.method == 'm')
      multiply_mode(apr, n, &u, &mode_kkt);
    else
      solve_rows(apr, n, &u, &mode_kkt);
    if (n == apr->order - 1) {
      apr->log_likelihood = 0;
      for (size_t i = 0; i < u.rows; ++i)
        apr->log_likelihood -= objective(&u, i, apr->factor[n] + i * u.rank);
    }
    normalise(apr, n, false);
    apr->kkt = fmaxl(apr->kkt, mode_kkt);
    free(u.x);
    free(u.pi);
  }
  apr->iteration += 1;
  if (apr->options.method == 'n' && apr->options.inexact)
    apr->row_tolerance = fmaxl(apr->options.tolerance, apr->kkt / 100);
}
