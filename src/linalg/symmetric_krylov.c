/* Leading eigenvectors of a large symmetric positive semidefinite matrix A, known by its products
 * with PD_SYMMETRIC_BLOCK columns at a time.
 *
 * Block Krylov-Schur method (G. W. Stewart, A Krylov-Schur Algorithm for Large Eigenproblems, 2001;
 * for symmetric matrices the thick-restart Lanczos method of K. Wu and H. Simon, 2000, in blocks).
 * An orthonormal basis V grows by one panel of columns per product: the new panel is what the
 * product A U with the newest panel U has outside of the basis. H = V^T A V is computed, never
 * assumed. With A V = V H + U R E^T, where E picks the newest panel's columns, an eigenvector y of
 * H gives the Ritz vector V y, whose residual is ||R E^T y|| without another product. When the
 * basis is full it is replaced by its leading Ritz vectors. A block finds eigenvalues of
 * multiplicity up to its width, which are common in sparse data. */
#include "core/random.h"
#include "linalg/symmetric.h"
#include <math.h>
#include <string.h>

enum {
  BLOCK = PD_SYMMETRIC_BLOCK,
  SQUARE = BLOCK * BLOCK,
  ROWS = 256,
  SMALL = 96,
  GRAIN = 1 << 15
};
static const double vanished = 1e-13; /* part of the largest eigenvalue that is rounding error */
static const double tidied = 1e-2;    /* parts below it lose digits */

struct krylov {
  struct pd_stage *stage;
  polyad_context *context;
  uint64_t rows;
  size_t room, keep, panels; /* panels: of the basis at most, kept by a restart, and now */
  int threads;
  double **panel;   /* room + 1 of rows x BLOCK: the basis, and the panel that comes next */
  double *image;    /* rows x BLOCK: the product */
  double *h;        /* room BLOCK squared: V^T A V, row major */
  double *schur;    /* a copy of it for LAPACK */
  double *values;   /* room BLOCK Ritz values */
  double *vectors;  /* their eigenvectors of H, row major */
  double *inner;    /* threads x room x SQUARE: V^T image */
  double r[SQUARE]; /* the newest panel times r is what the image had outside of the basis */
  double largest;   /* eigenvalue that was seen */
  uint64_t drawn;   /* random columns so far */
};

/* ---- products of panels --------------------------------------------------------------------- */

/* inner[p] = panel[p]^T w for all panels of the basis; parts of threads are added in order. */
static void symmetric_krylov_project(struct krylov *k, const double *w) {
  size_t numbers = k->panels * SQUARE;
#pragma omp parallel for num_threads(k->threads) schedule(static, 1)
  for (int t = 0; t < k->threads; ++t) {
    double *inner = k->inner + (size_t)t * k->room * SQUARE;
    uint64_t end = pd_part_begin(k->rows, t + 1, k->threads);
    memset(inner, 0, numbers * sizeof *inner);
    for (uint64_t i = pd_part_begin(k->rows, t, k->threads); i < end; i += ROWS)
      for (size_t p = 0; p < k->panels; ++p) {
        double *sum = inner + p * SQUARE;
        for (uint64_t j = i; j < end && j < i + ROWS; ++j)
          for (int a = 0; a < BLOCK; ++a)
            for (int c = 0; c < BLOCK; ++c)
              sum[a * BLOCK + c] +=
                  k->panel[p][j * BLOCK + (uint64_t)a] * w[j * BLOCK + (uint64_t)c];
      }
  }
  for (int t = 1; t < k->threads; ++t)
    for (size_t q = 0; q < numbers; ++q)
      k->inner[q] += k->inner[(size_t)t * k->room * SQUARE + q];
}

/* w -= basis inner. */
static void subtract(const struct krylov *k, double *w) {
#pragma omp parallel for num_threads(k->threads) schedule(static, 1)
  for (int t = 0; t < k->threads; ++t) {
    uint64_t end = pd_part_begin(k->rows, t + 1, k->threads);
    for (uint64_t i = pd_part_begin(k->rows, t, k->threads); i < end; i += ROWS)
      for (size_t p = 0; p < k->panels; ++p) {
        const double *h = k->inner + p * SQUARE;
        for (uint64_t j = i; j < end && j < i + ROWS; ++j)
          for (int a = 0; a < BLOCK; ++a)
            for (int c = 0; c < BLOCK; ++c)
              w[j * BLOCK + (uint64_t)c] -= k->panel[p][j * BLOCK + (uint64_t)a] * h[a * BLOCK + c];
      }
  }
}

/* Takes the basis out of w, twice (once is not enough for all digits); adds the coefficients to
 * `coefficients` (panels x SQUARE) unless that is NULL. */
static void remove_basis(struct krylov *k, double *w, double *coefficients) {
  for (int again = 0; again < 2; ++again) {
    symmetric_krylov_project(k, w);
    subtract(k, w);
    for (size_t q = 0; coefficients != NULL && q < k->panels * SQUARE; ++q)
      coefficients[q] += k->inner[q];
  }
}

static double symmetric_krylov_dot(const struct krylov *k, const double *x, int a, const double *y,
                                   int c) {
  double sum = 0;
  for (uint64_t i = 0; i < k->rows; ++i)
    sum += x[i * BLOCK + (uint64_t)a] * y[i * BLOCK + (uint64_t)c];
  return sum;
}

/* Column c of w loses its parts along the columns before it, twice; returns the norm left. */
static double remove_columns(const struct krylov *k, double *w, int c, double *coefficients) {
  for (int again = 0; again < 2; ++again)
    for (int a = 0; a < c; ++a) {
      double along = symmetric_krylov_dot(k, w, a, w, c);
      if (coefficients != NULL) coefficients[a * BLOCK + c] += along;
      for (uint64_t i = 0; i < k->rows; ++i)
        w[i * BLOCK + (uint64_t)c] -= along * w[i * BLOCK + (uint64_t)a];
    }
  return sqrt(symmetric_krylov_dot(k, w, c, w, c));
}

static void scale_column(const struct krylov *k, double *w, int c, double by) {
  for (uint64_t i = 0; i < k->rows; ++i)
    w[i * BLOCK + (uint64_t)c] *= by;
}

/* A random unit column outside of the basis and of the columns before it. */
static void draw_column(struct krylov *k, double *w, int c, uint64_t stream) {
  uint64_t seed = polyad_seed(k->context), first = k->drawn++ * k->rows;
  for (uint64_t i = 0; i < k->rows; ++i)
    w[i * BLOCK + (uint64_t)c] = pd_random_normal(seed, stream, first + i);
  remove_basis(k, w, NULL); /* the other columns are outside already */
  double norm = remove_columns(k, w, c, NULL);
  scale_column(k, w, c, 1 / norm);
}

/* Once more: what is left of nearly dependent columns is rounding error to a part, which is not
 * outside of the basis. */
static void tidy(struct krylov *k, double *w) {
  remove_basis(k, w, NULL);
  for (int c = 0; c < BLOCK; ++c)
    scale_column(k, w, c, 1 / remove_columns(k, w, c, NULL));
}

/* w = q r with orthonormal q, in place. What vanished gives a zero in r and a random column. */
static void symmetric_krylov_factor(struct krylov *k, double *w, uint64_t stream) {
  double least = k->largest;
  memset(k->r, 0, sizeof k->r);
  for (int c = 0; c < BLOCK; ++c) {
    double norm = remove_columns(k, w, c, k->r);
    if (norm > vanished * k->largest && norm > 0) {
      k->r[c * BLOCK + c] = norm;
      scale_column(k, w, c, 1 / norm);
      if (norm < least) least = norm;
    } else {
      draw_column(k, w, c, stream);
    }
  }
  if (least < tidied * k->largest) tidy(k, w);
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* One product: the panel after the basis joins it, and what its image has outside becomes the next
 * one. */
static polyad_status symmetric_krylov_grow(struct krylov *k, const struct pd_symmetric_operator *a,
                                           uint64_t stream, double *coefficients) {
  size_t newest = k->panels, stride = k->room * BLOCK;
  PD_TRY(a->apply(a->user, k->panel[newest], k->image));
  ++k->panels;
  memset(coefficients, 0, k->panels * SQUARE * sizeof *coefficients);
  remove_basis(k, k->image, coefficients);
  for (size_t p = 0; p < k->panels; ++p)
    for (size_t q = 0; q < SQUARE; ++q) {
      size_t row = p * BLOCK + q / BLOCK, column = newest * BLOCK + q % BLOCK;
      k->h[row * stride + column] = k->h[column * stride + row] = coefficients[p * SQUARE + q];
    }
  for (size_t c = newest * BLOCK; c < k->panels * BLOCK; ++c)
    if (k->h[c * stride + c] > k->largest) k->largest = k->h[c * stride + c];
  if (!isfinite(k->h[newest * BLOCK * (stride + 1)]))
    return pd_fail(k->context, POLYAD_NUMERICAL,
                   "an eigenvalue of the unfolded tensor overflows; scale the values");
  symmetric_krylov_factor(k, k->image, stream);
  double *swap = k->panel[k->panels];
  k->panel[k->panels] = k->image;
  k->image = swap;
  return POLYAD_OK;
}

/* Ritz values and vectors, and the largest residual of the first `wanted`. */
static polyad_status symmetric_krylov_solve(struct krylov *k, size_t wanted, double *residual) {
  size_t m = k->panels * BLOCK, stride = k->room * BLOCK;
  for (size_t r = 0; r < m; ++r)
    memcpy(k->schur + r * m, k->h + r * stride, m * sizeof(double));
  PD_TRY(pd_symmetric_leading(k->stage, m, k->schur, m, k->values, k->vectors));
  double most = 0;
  for (size_t v = 0; v < wanted; ++v) {
    double square = 0;
    for (size_t a = 0; a < BLOCK; ++a) {
      double sum = 0;
      for (size_t c = 0; c < BLOCK; ++c)
        sum += k->r[a * BLOCK + c] * k->vectors[(m - BLOCK + c) * m + v];
      square += sum * sum;
    }
    if (square > most) most = square;
  }
  *residual = k->values[0] > 0 ? sqrt(most) / k->values[0] : 0;
  return POLYAD_OK;
}

/* Row i of the basis times the first `columns` Ritz vectors. */
static void symmetric_krylov_combine(const struct krylov *k, uint64_t i, size_t columns,
                                     double *to) {
  size_t m = k->panels * BLOCK;
  memset(to, 0, columns * sizeof *to);
  for (size_t q = 0; q < m; ++q) {
    double x = k->panel[q / BLOCK][i * BLOCK + q % BLOCK];
    const double *vector = k->vectors + q * m;
    for (size_t c = 0; c < columns; ++c)
      to[c] += x * vector[c];
  }
}

/* The leading Ritz vectors become the basis; the next panel stays the next. */
static polyad_status restart(struct krylov *k) {
  size_t columns = k->keep * BLOCK, stride = k->room * BLOCK;
  double *rows;
  PD_TRY(PD_NEW(k->context, pd_mul_saturated((uint64_t)k->threads, columns), &rows));
#pragma omp parallel for num_threads(k->threads) schedule(static, 1)
  for (int t = 0; t < k->threads; ++t) {
    double *row = rows + (size_t)t * columns;
    for (uint64_t i = pd_part_begin(k->rows, t, k->threads);
         i < pd_part_begin(k->rows, t + 1, k->threads); ++i) {
      symmetric_krylov_combine(k, i, columns, row);
      for (size_t p = 0; p < k->keep; ++p)
        memcpy(k->panel[p] + i * BLOCK, row + p * BLOCK, BLOCK * sizeof *row);
    }
  }
  pd_free(k->context, rows);
  double *next = k->panel[k->panels];
  k->panel[k->panels] = k->panel[k->keep];
  k->panel[k->keep] = next;
  memset(k->h, 0, stride * stride * sizeof *k->h);
  for (size_t c = 0; c < columns; ++c)
    k->h[c * stride + c] = k->values[c];
  k->panels = k->keep;
  return POLYAD_OK;
}

static polyad_status symmetric_krylov_iterate(struct krylov *k,
                                              const struct pd_symmetric_operator *a,
                                              struct pd_symmetric_search *search) {
  double *coefficients;
  polyad_status status = POLYAD_OK;
  size_t wanted = (size_t)search->wanted;
  PD_TRY(PD_NEW(k->context, k->room * SQUARE, &coefficients));
  for (int c = 0; c < BLOCK; ++c)
    draw_column(k, k->panel[0], c, search->stream);
  for (search->products = 0;;) {
    PD_TRY_CLEANUP(pd_stage_tick(k->stage));
    PD_TRY_CLEANUP(symmetric_krylov_grow(k, a, search->stream, coefficients));
    bool last = ++search->products >= search->most_products && k->panels >= k->keep;
    if (k->panels < k->keep || (k->panels < k->room && !last && k->panels * BLOCK > SMALL))
      continue;
    PD_TRY_CLEANUP(symmetric_krylov_solve(k, wanted, &search->residual));
    if (last || search->residual <= search->tolerance) break;
    if (k->panels == k->room) PD_TRY_CLEANUP(restart(k));
  }
cleanup:
  pd_free(k->context, coefficients);
  return status;
}

/* ---- memory --------------------------------------------------------------------------------- */

static size_t kept_panels(uint64_t wanted) { return (size_t)(wanted + 4 + BLOCK - 1) / BLOCK; }

static size_t best_room(uint64_t wanted) {
  size_t keep = kept_panels(wanted);
  return keep + (keep > 4 ? keep : 4);
}

/* As many panels as memory allows, up to what is best. */
static size_t room_within(const struct krylov *k, size_t best) {
  uint64_t used = polyad_memory_in_use(k->context), limit = polyad_memory_limit(k->context);
  uint64_t left = limit > used ? limit - used : 0, panel = k->rows * BLOCK * sizeof(double);
  size_t room = best;
  while (room > k->keep + 1 && (room + 4) * panel > left)
    --room;
  return room;
}

static polyad_status symmetric_krylov_make(struct krylov *k, uint64_t wanted) {
  k->keep = kept_panels(wanted);
  k->room = room_within(k, best_room(wanted));
  uint64_t m = (uint64_t)k->room * BLOCK;
  k->threads = pd_threads_for(k->context, k->rows * SQUARE, GRAIN);
  PD_TRY(PD_NEW_ZERO(k->context, k->room + 1, &k->panel));
  for (size_t p = 0; p <= k->room; ++p)
    PD_TRY(PD_NEW_ZERO(k->context, pd_mul_saturated(k->rows, BLOCK), &k->panel[p]));
  PD_TRY(PD_NEW(k->context, pd_mul_saturated(k->rows, BLOCK), &k->image));
  PD_TRY(PD_NEW_ZERO(k->context, pd_mul_saturated(m, m), &k->h));
  PD_TRY(PD_NEW(k->context, pd_mul_saturated(m, m), &k->schur));
  PD_TRY(PD_NEW(k->context, pd_mul_saturated(m, m), &k->vectors));
  PD_TRY(PD_NEW(k->context, m, &k->values));
  return PD_NEW(k->context,
                pd_mul_saturated(pd_mul_saturated((uint64_t)k->threads, k->room), SQUARE),
                &k->inner);
}

static void symmetric_krylov_clear(struct krylov *k) {
  for (size_t p = 0; k->panel != NULL && p <= k->room; ++p)
    pd_free(k->context, k->panel[p]);
  PD_FREE(k->context, k->panel, k->image, k->h, k->schur, k->vectors, k->values, k->inner);
}

polyad_status pd_symmetric_krylov(struct pd_stage *stage, const struct pd_symmetric_operator *a,
                                  struct pd_symmetric_search *search, double *values,
                                  double *vectors) {
  struct krylov k = {.stage = stage, .context = stage->context, .rows = a->rows};
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(symmetric_krylov_make(&k, search->wanted));
  PD_TRY_CLEANUP(symmetric_krylov_iterate(&k, a, search));
  memcpy(values, k.values, search->wanted * sizeof *values);
#pragma omp parallel for num_threads(k.threads) schedule(static)
  for (uint64_t i = 0; i < k.rows; ++i)
    symmetric_krylov_combine(&k, i, (size_t)search->wanted, vectors + i * search->wanted);
cleanup:
  symmetric_krylov_clear(&k);
  return status;
}
