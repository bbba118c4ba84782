/* Core consistency: how superdiagonal the core is that fits a tensor best with the factors of a CP
 * model (Bro and Kiers 2003).
 *
 * Each factor A (weights go into the first mode's) is written as A = Q U D: D the norms of its
 * columns, Q orthonormal, U upper triangular. Then A^+ = D^-1 U^-1 Q^T, and the core
 *
 *   G = X x_1 A1^+ ... x_N AN^+
 *
 * is found in two steps, as in Papalexakis and Faloutsos (2015): the sparse tensor is projected
 * onto the bases Q, which cannot lose digits, and the R^N numbers that remain are multiplied by the
 * small inverses mode by mode. Scaling the columns before orthogonalising keeps the accuracy
 * independent of the components' weights. */
#include "algorithms/core_consistency.h"
#include "algorithms/model_start.h"
#include <float.h>
#include <math.h>
#include <polyad/rank.h>
#include <string.h>

/* One factor, taken apart. */
struct basis {
  uint64_t rows;
  double *q;      /* rows x R, row major; columns that depend on others are zero */
  double *upper;  /* R x R */
  double *length; /* R norms of the factor's columns; 0: the column gets no entry of the core */
};

struct consistency {
  polyad_context *context;
  const polyad_ktensor *model;
  uint64_t rank, cells;
  struct basis basis[POLYAD_MAX_ORDER]; /* of each mode */
  double *core;                         /* levels of the tree, the last one fastest */
};

/* ---- orthonormal bases ---------------------------------------------------------------------- */

/* Divides column r by its norm, which is returned. Entries are divided by the largest one first, so
 * that no square overflows or vanishes. */
static double normalize_column(struct basis *b, uint64_t rank, uint64_t r) {
  double most = 0, sum = 0;
  for (uint64_t i = 0; i < b->rows; ++i)
    most = fmax(most, fabs(b->q[i * rank + r]));
  if (most == 0) return 0;
  for (uint64_t i = 0; i < b->rows; ++i) {
    double x = b->q[i * rank + r] / most;
    sum += x * x;
  }
  double norm = sqrt(sum);
  for (uint64_t i = 0; i < b->rows; ++i)
    b->q[i * rank + r] = b->q[i * rank + r] / most / norm;
  return most * norm;
}

/* Takes what lies in the columns before r out of column r, and adds it to upper. `part` has room
 * for R numbers. */
static void remove_projection(struct basis *b, uint64_t rank, uint64_t r, double *part) {
  memset(part, 0, r * sizeof *part);
  for (uint64_t i = 0; i < b->rows; ++i) {
    const double *row = b->q + i * rank;
    for (uint64_t k = 0; k < r; ++k)
      part[k] += row[k] * row[r];
  }
  for (uint64_t i = 0; i < b->rows; ++i) {
    double *row = b->q + i * rank, sum = 0;
    for (uint64_t k = 0; k < r; ++k)
      sum += part[k] * row[k];
    row[r] -= sum;
  }
  for (uint64_t k = 0; k < r; ++k)
    b->upper[k * rank + r] += part[k];
}

/* Gram-Schmidt, each column twice: orthonormal to rounding (L. Giraud, J. Langou, M. Rozloznik and
 * J. van den Eshof, Numer. Math. 101, 2005). */
static void core_consistency_orthonormalize(struct basis *b, uint64_t rank, double *part) {
  double dependent = 8 * (double)rank * DBL_EPSILON;
  for (uint64_t r = 0; r < rank; ++r) {
    b->length[r] = normalize_column(b, rank, r);
    remove_projection(b, rank, r, part);
    remove_projection(b, rank, r, part);
    double rest = normalize_column(b, rank, r);
    b->upper[r * rank + r] = rest;
    if (rest > dependent && b->length[r] > 0) continue;
    b->length[r] = 0;
    for (uint64_t i = 0; i < b->rows; ++i)
      b->q[i * rank + r] = 0;
  }
}

static polyad_status make_basis(struct consistency *c, int mode, double *part) {
  const polyad_ktensor *model = c->model;
  struct basis *b = &c->basis[mode];
  uint64_t count = pd_mul_saturated(model->dims[mode], c->rank);
  b->rows = model->dims[mode];
  PD_TRY(PD_NEW(c->context, count, &b->q));
  PD_TRY(PD_NEW_ZERO(c->context, pd_mul_saturated(c->rank, c->rank), &b->upper));
  PD_TRY(PD_NEW(c->context, c->rank, &b->length));
  for (uint64_t k = 0; k < count; ++k) {
    b->q[k] = pd_model_number(model, model->factor[mode], k);
    if (!isfinite(b->q[k]))
      return pd_fail(c->context, POLYAD_NUMERICAL,
                     "the factor of mode %d has an entry that is not finite in row %llu",
                     pd_shown_mode(c->context, mode),
                     (unsigned long long)pd_shown(c->context, k / c->rank));
  }
  core_consistency_orthonormalize(b, c->rank, part);
  return POLYAD_OK;
}

/* The weights belong to the first mode's columns. */
static polyad_status take_weights(struct consistency *c) {
  struct basis *first = &c->basis[0];
  for (uint64_t r = 0; r < c->rank; ++r) {
    double weight = pd_model_number(c->model, c->model->weights, r);
    if (!isfinite(weight))
      return pd_fail(c->context, POLYAD_NUMERICAL, "weight %llu of the model is not finite",
                     (unsigned long long)pd_shown(c->context, r));
    first->length[r] *= weight;
  }
  return POLYAD_OK;
}

/* ---- the core ------------------------------------------------------------------------------- */

/* Multiplies the core by D^-1 U^-1 along one level, whose entries are `stride` apart. */
static void solve_level(const struct consistency *c, const struct basis *b, uint64_t stride) {
  uint64_t rank = c->rank, block = rank * stride;
  for (double *at = c->core; at < c->core + c->cells; at += block)
    for (uint64_t r = rank; r-- > 0;) {
      double *x = at + r * stride;
      if (b->length[r] == 0) {
        memset(x, 0, stride * sizeof *x);
        continue;
      }
      double pivot = b->upper[r * rank + r];
      for (uint64_t j = 0; j < stride; ++j)
        x[j] /= pivot;
      for (uint64_t k = 0; k < r; ++k)
        for (uint64_t j = 0; j < stride; ++j)
          at[k * stride + j] -= b->upper[k * rank + r] * x[j];
    }
}

/* Divides along one level by the lengths of the components. */
static void divide_level(const struct consistency *c, const struct basis *b, uint64_t stride) {
  for (uint64_t k = 0; k < c->cells; ++k) {
    double length = b->length[k / stride % c->rank];
    if (length != 0) c->core[k] /= length;
  }
}

static polyad_status find_core(struct pd_stage *stage, struct consistency *c,
                               const struct pd_tree *tree) {
  struct pd_bases bases = {{0}, {0}, {0}};
  uint64_t stride = 1;
  for (int l = 0; l < tree->order; ++l) {
    bases.columns[l] = bases.stride[l] = c->rank;
    bases.basis[l] = c->basis[tree->mode[l]].q;
  }
  PD_TRY(pd_project(stage, tree, &bases, c->core));
  for (int l = tree->order - 1; l >= 0; --l, stride *= c->rank)
    solve_level(c, &c->basis[tree->mode[l]], stride);
  stride = 1;
  for (int l = tree->order - 1; l >= 0; --l, stride *= c->rank)
    divide_level(c, &c->basis[tree->mode[l]], stride);
  return POLYAD_OK;
}

/* 100 (1 - ||G - T||^2 / R); entries of T are a step of 1 + R + ... + R^(N-1) apart. */
static double compare_core(const struct consistency *c) {
  double sum = 0;
  uint64_t step = c->rank > 1 ? (c->cells - 1) / (c->rank - 1) : 1;
  for (uint64_t k = 0; k < c->cells; ++k) {
    double difference = c->core[k] - (k % step == 0 ? 1 : 0);
    sum += difference * difference;
  }
  return 100 * (1 - sum / (double)c->rank);
}

static polyad_status core_consistency_measure(struct pd_stage *stage, struct consistency *c,
                                              const struct pd_tree *tree, double *consistency) {
  double *part = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(PD_NEW(c->context, c->rank, &part));
  PD_TRY_CLEANUP(PD_NEW(c->context, c->cells, &c->core));
  for (int n = 0; n < c->model->order; ++n) {
    PD_TRY_CLEANUP(pd_stage_tick(stage));
    PD_TRY_CLEANUP(make_basis(c, n, part));
  }
  PD_TRY_CLEANUP(take_weights(c));
  PD_TRY_CLEANUP(find_core(stage, c, tree));
  *consistency = compare_core(c);
  if (!isfinite(*consistency))
    status = pd_fail(c->context, POLYAD_NUMERICAL,
                     "the core consistency overflows; scale the values of the tensor");
cleanup:
  pd_free(c->context, part);
  return status;
}

polyad_status pd_core_consistency(struct pd_stage *stage, const struct pd_tree *tree,
                                  const polyad_ktensor *model, double *consistency) {
  struct consistency c = {
      .context = stage->context, .model = model, .rank = model->rank, .cells = 1};
  for (int n = 0; n < model->order; ++n)
    if (!pd_mul(c.cells, c.rank, &c.cells))
      return pd_fail(c.context, POLYAD_OVERFLOW,
                     "a core of rank %llu in %d modes has more cells than can be counted",
                     (unsigned long long)c.rank, model->order);
  PD_TRY(pd_memory_check(c.context, pd_mul_saturated(c.cells, sizeof(double)),
                         "core of the core consistency"));
  polyad_status status = core_consistency_measure(stage, &c, tree, consistency);
  pd_free(c.context, c.core);
  for (int n = 0; n < model->order; ++n) {
    PD_FREE(c.context, c.basis[n].q, c.basis[n].upper, c.basis[n].length);
  }
  return status;
}

/* ---- the public function -------------------------------------------------------------------- */

polyad_status polyad_core_consistency(polyad_context *context, const polyad_ktensor *model,
                                      const polyad_tensor *tensor, double *consistency) {
  PD_ENTER(context);
  PD_EXPECT(context, model != NULL && tensor != NULL && consistency != NULL,
            "model, tensor or consistency is NULL");
  PD_TRY(pd_model_check_shape(context, model->order, model->dims, tensor, 0, "the same"));
  struct pd_stage stage = pd_stage_begin(context, "core consistency");
  struct pd_tree tree;
  PD_TRY(pd_tree_create(context, tensor, &tree));
  polyad_status status = pd_core_consistency(&stage, &tree, model, consistency);
  pd_tree_clear(&tree);
  return status;
}
