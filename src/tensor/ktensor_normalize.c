/* Normal forms of a Kruskal tensor: norms, order and signs of its components, as in the Tensor
 * Toolbox (B. W. Bader, T. G. Kolda et al.). */
#include "core/numbers.h"
#include "tensor/columns.h"
#include "tensor/ktensor.h"
#include "tensor/ktensor_scale.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pd_columns pd_ktensor_columns(const polyad_ktensor *ktensor, int mode, uint64_t first) {
  uint64_t rest = ktensor->rank - first;
  return (struct pd_columns){.context = ktensor->context,
                             .matrix = ktensor->factor[mode],
                             .type = ktensor->type,
                             .rows = ktensor->dims[mode],
                             .stride = ktensor->rank,
                             .first = first,
                             .count = rest < PD_COLUMN_CHUNK ? (int)rest : PD_COLUMN_CHUNK};
}

double pd_ktensor_weight(const polyad_ktensor *ktensor, uint64_t r) {
  return pd_load(ktensor->type, ktensor->weights, r);
}

static void set_weight(polyad_ktensor *ktensor, uint64_t r, double weight) {
  pd_store(ktensor->type, ktensor->weights, r, weight);
}

/* What has been found of up to PD_COLUMN_CHUNK columns in every mode. */
struct chunk_peaks {
  double peak[POLYAD_MAX_ORDER][PD_COLUMN_CHUNK];
};

struct chunk_norms {
  double length[POLYAD_MAX_ORDER][PD_COLUMN_CHUNK];
  int shift[POLYAD_MAX_ORDER][PD_COLUMN_CHUNK];
  struct chunk_peaks peaks;
};

/* The rows that are counted here: where members share a model, each one's own. */
static struct pd_columns own_columns(const polyad_ktensor *ktensor, int mode, uint64_t first,
                                     const struct pd_ktensor_share *share) {
  struct pd_columns columns = pd_ktensor_columns(ktensor, mode, first);
  if (share != NULL) columns.rows = share->own[mode];
  return columns;
}

/* The norm of column c of mode n from the norms of the members' rows, added in the members' order.
 * All are scaled by the largest's power of two, so that neither squares nor sums pass the range. */
static void join_norm(const struct chunk_norms *all, int size, bool one, int n, int c,
                      struct chunk_norms *joined) {
  int exponent = INT_MIN;
  double sum = 0;
  for (int k = 0; k < size; ++k)
    if (all[k].length[n][c] != 0 && all[k].shift[n][c] > exponent) exponent = all[k].shift[n][c];
  for (int k = 0; k < size; ++k) {
    if (all[k].length[n][c] == 0) continue;
    double length = ldexp(all[k].length[n][c], all[k].shift[n][c] - exponent);
    sum += one ? length : length * length;
  }
  joined->length[n][c] = one ? sum : sqrt(sum);
  joined->shift[n][c] = exponent == INT_MIN ? 0 : exponent;
  joined->peaks.peak[n][c] = all[0].peaks.peak[n][c]; /* of equal ones the first member's */
  for (int k = 1; k < size; ++k)
    if (fabs(all[k].peaks.peak[n][c]) > fabs(joined->peaks.peak[n][c]))
      joined->peaks.peak[n][c] = all[k].peaks.peak[n][c];
}

/* What each member of a share has found, one after the other, in new memory. */
static polyad_status ask_members(polyad_context *context, const struct pd_ktensor_share *share,
                                 const void *mine, uint64_t bytes, void **all) {
  PD_TRY(pd_alloc(context, (uint64_t)share->size, bytes, all));
  return share->gather(share->members, mine, bytes, *all);
}

/* The 2-norms of columns that lie elsewhere. Nearly always the first pass, which scales nothing, is
 * enough. */
static polyad_status find_norms_there(const struct pd_ktensor_passes *passes, int mode,
                                      uint64_t first, int count, struct chunk_norms *norms) {
  double *length = norms->length[mode], *peak = norms->peaks.peak[mode];
  int *shift = norms->shift[mode];
  PD_TRY(passes->norms(passes->user, mode, first, count, shift, length, peak));
  if (!pd_columns_exponents(peak, count, shift)) return POLYAD_OK;
  return passes->norms(passes->user, mode, first, count, shift, length, peak);
}

static polyad_status find_column_norms(const polyad_ktensor *ktensor, bool one, uint64_t first,
                                       const struct pd_ktensor_passes *passes,
                                       const struct pd_ktensor_share *share,
                                       struct chunk_norms *norms) {
  void *all = NULL;
  memset(norms, 0, sizeof *norms);
  for (int n = 0; n < ktensor->order; ++n) {
    struct pd_columns columns = own_columns(ktensor, n, first, share);
    if (passes != NULL)
      PD_TRY(find_norms_there(passes, n, first, columns.count, norms));
    else
      pd_columns_norm(&columns, one, norms->length[n], norms->shift[n], norms->peaks.peak[n]);
  }
  if (share == NULL) return POLYAD_OK;
  polyad_status status = ask_members(ktensor->context, share, norms, sizeof *norms, &all);
  for (int n = 0; n < ktensor->order && status == POLYAD_OK; ++n)
    for (int c = 0; c < PD_COLUMN_CHUNK; ++c)
      join_norm(all, share->size, one, n, c, norms);
  pd_free(ktensor->context, all);
  return status;
}

/* Puts norms and signs of weights into the weights, and tells what columns are to be divided by,
 * times 2^shift. Weights as mantissa and exponent: products of many norms may pass the range for a
 * while. */
static void find_divisors(polyad_ktensor *ktensor, uint64_t first, const struct chunk_norms *norms,
                          double divisor[POLYAD_MAX_ORDER][PD_COLUMN_CHUNK]) {
  int count = pd_ktensor_columns(ktensor, 0, first).count;
  for (int c = 0; c < count; ++c) {
    int exponent, more;
    double mantissa = frexp(pd_ktensor_weight(ktensor, first + (uint64_t)c), &exponent);
    for (int n = 0; n < ktensor->order; ++n) {
      bool turn = n == 0 && mantissa < 0;
      double length = norms->length[n][c];
      divisor[n][c] = turn ? -length : length;
      mantissa = frexp(fabs(mantissa) * length, &more);
      exponent += more + norms->shift[n][c];
    }
    set_weight(ktensor, first + (uint64_t)c, ldexp(mantissa, exponent));
  }
}

polyad_status pd_ktensor_normalize_shared(polyad_ktensor *ktensor, polyad_norm norm,
                                          const struct pd_ktensor_share *share) {
  struct chunk_norms norms;
  double divisor[POLYAD_MAX_ORDER][PD_COLUMN_CHUNK];
  for (uint64_t first = 0; first < ktensor->rank; first += PD_COLUMN_CHUNK) {
    PD_TRY(find_column_norms(ktensor, norm == POLYAD_NORM_1, first, NULL, share, &norms));
    find_divisors(ktensor, first, &norms, divisor);
    for (int n = 0; n < ktensor->order; ++n) {
      struct pd_columns columns = pd_ktensor_columns(ktensor, n, first);
      pd_columns_divide(&columns, divisor[n], norms.shift[n]);
    }
  }
  return POLYAD_OK;
}

/* Alone nothing can fail. */
void polyad_ktensor_normalize(polyad_ktensor *ktensor, polyad_norm norm) {
  (void)pd_ktensor_normalize_shared(ktensor, norm, NULL);
}

/* Heavier first; equal ones as they stood; NaN last. */
static int by_weight(const void *left, const void *right) {
  const struct pd_component *a = left, *b = right;
  if (a->weight > b->weight) return -1;
  if (a->weight < b->weight) return 1;
  int nan_a = isnan(a->weight), nan_b = isnan(b->weight);
  if (nan_a != nan_b) return nan_a - nan_b;
  return a->place < b->place ? -1 : a->place > b->place;
}

/* `copy` has room for a row. */
#define FORM_ROWS(type)                                                                            \
  static void form_##type(type *row, uint64_t rows, uint64_t rank,                                 \
                          const struct pd_column_form *form, type *copy) {                         \
    for (uint64_t i = 0; i < rows; ++i, row += rank) {                                             \
      for (uint64_t k = 0; k < rank; ++k)                                                          \
        copy[k] =                                                                                  \
            (type)((double)row[form[k].place] * form[k].one * form[k].other / form[k].divisor);    \
      memcpy(row, copy, rank * sizeof *row);                                                       \
    }                                                                                              \
  }
FORM_ROWS(float)
FORM_ROWS(double)

static int forming_threads(polyad_context *context, const polyad_ktensor *ktensor) {
  uint64_t longest = pd_longest(ktensor->order, ktensor->dims);
  return pd_threads_for(context, pd_mul_saturated(longest, ktensor->rank), 1 << 14);
}

/* `rows` has room for a row of each thread. */
static void form_rows(polyad_ktensor *ktensor, int mode, const struct pd_column_form *form,
                      char *rows, int threads) {
  uint64_t rank = ktensor->rank;
  size_t row_bytes = (size_t)rank * pd_type_bytes(ktensor->type);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    void *copy = rows + (size_t)part * row_bytes;
    uint64_t begin = pd_part_begin(ktensor->dims[mode], part, threads);
    uint64_t count = pd_part_begin(ktensor->dims[mode], part + 1, threads) - begin;
    void *first = (char *)ktensor->factor[mode] + begin * row_bytes;
    if (ktensor->type == POLYAD_F32)
      form_float(first, count, rank, form, copy);
    else
      form_double(first, count, rank, form, copy);
  }
}

/* Sorts the weights, and tells where each was; whether any moves. */
static bool sort_weights(polyad_ktensor *ktensor, struct pd_component *order) {
  bool moves = false;
  for (uint64_t r = 0; r < ktensor->rank; ++r)
    order[r] = (struct pd_component){pd_ktensor_weight(ktensor, r), r};
  qsort(order, (size_t)ktensor->rank, sizeof *order, by_weight);
  for (uint64_t r = 0; r < ktensor->rank; ++r) {
    set_weight(ktensor, r, order[r].weight);
    moves = moves || order[r].place != r;
  }
  return moves;
}

polyad_status polyad_ktensor_arrange(polyad_context *context, polyad_ktensor *ktensor) {
  PD_ENTER(context);
  PD_EXPECT(context, ktensor != NULL, "no Kruskal tensor given (NULL)");
  int threads = forming_threads(context, ktensor);

  polyad_status status = POLYAD_OK;
  struct pd_component *order = NULL;
  struct pd_column_form *form = NULL;
  char *rows = NULL;
  PD_TRY_CLEANUP(PD_NEW(context, ktensor->rank, &order));
  PD_TRY_CLEANUP(PD_NEW(context, ktensor->rank, &form));
  PD_TRY_CLEANUP(pd_alloc(context, pd_mul_saturated(ktensor->rank, (uint64_t)threads),
                          pd_type_bytes(ktensor->type), (void **)&rows));
  if (sort_weights(ktensor, order)) {
    for (uint64_t k = 0; k < ktensor->rank; ++k)
      form[k] = (struct pd_column_form){order[k].place, 1, 1, 1};
    for (int n = 0; n < ktensor->order; ++n)
      form_rows(ktensor, n, form, rows, threads);
  }

cleanup:
  PD_FREE(context, rows, form, order);
  return status;
}

/* Columns of negative peak turn in pairs: turns[n][c] where column c of mode n does. */
static void find_turns(int order, int count, const struct chunk_peaks *peaks,
                       bool turns[POLYAD_MAX_ORDER][PD_COLUMN_CHUNK]) {
  for (int c = 0; c < count; ++c) {
    int negative = 0, turned = 0;
    for (int n = 0; n < order; ++n)
      negative += peaks->peak[n][c] < 0;
    for (int n = 0; n < order; ++n) {
      turns[n][c] = peaks->peak[n][c] < 0 && turned < negative / 2 * 2;
      turned += turns[n][c];
    }
  }
}

static void turn_pairs(polyad_ktensor *ktensor, uint64_t first, const struct chunk_peaks *peaks) {
  static const int no_shift[PD_COLUMN_CHUNK] = {0};
  bool turns[POLYAD_MAX_ORDER][PD_COLUMN_CHUNK];
  int count = pd_ktensor_columns(ktensor, 0, first).count;
  find_turns(ktensor->order, count, peaks, turns);
  for (int n = 0; n < ktensor->order; ++n) {
    double divisor[PD_COLUMN_CHUNK] = {0};
    for (int c = 0; c < count; ++c)
      if (turns[n][c]) divisor[c] = -1;
    struct pd_columns columns = pd_ktensor_columns(ktensor, n, first);
    pd_columns_divide(&columns, divisor, no_shift);
  }
}

void polyad_ktensor_fix_signs(polyad_ktensor *ktensor) {
  struct chunk_peaks peaks;
  for (uint64_t first = 0; first < ktensor->rank; first += PD_COLUMN_CHUNK) {
    for (int n = 0; n < ktensor->order; ++n) {
      struct pd_columns columns = pd_ktensor_columns(ktensor, n, first);
      pd_columns_peak(&columns, peaks.peak[n]);
    }
    turn_pairs(ktensor, first, &peaks);
  }
}

/* ---- all of it in two passes ------------------------------------------------------------------
 */

/* by[n * rank + r] of the columns of a chunk; sets their weights. A column of zeros stays. */
static void find_scales(polyad_ktensor *ktensor, uint64_t first, struct chunk_norms *norms,
                        struct pd_column_form *by) {
  double divisor[POLYAD_MAX_ORDER][PD_COLUMN_CHUNK];
  bool turns[POLYAD_MAX_ORDER][PD_COLUMN_CHUNK];
  int count = pd_ktensor_columns(ktensor, 0, first).count;
  find_divisors(ktensor, first, norms, divisor);
  for (int n = 0; n < ktensor->order; ++n)
    for (int c = 0; c < count; ++c)
      if (divisor[n][c] < 0) norms->peaks.peak[n][c] = -norms->peaks.peak[n][c];
  find_turns(ktensor->order, count, &norms->peaks, turns);
  for (int n = 0; n < ktensor->order; ++n)
    for (int c = 0; c < count; ++c) {
      uint64_t r = first + (uint64_t)c;
      struct pd_column_form *form = &by[(uint64_t)n * ktensor->rank + r];
      bool stays = divisor[n][c] == 0;
      pd_two_powers(stays ? 0 : norms->shift[n][c], &form->one, &form->other);
      form->divisor = stays ? 1 : turns[n][c] ? -divisor[n][c] : divisor[n][c];
      form->place = r;
    }
}

/* Brings the rows of mode n to their form, with `rows` as in form_rows(). */
static polyad_status form_mode(polyad_ktensor *ktensor, int n,
                               const struct pd_ktensor_passes *passes,
                               const struct pd_column_form *form, char *rows, int threads) {
  if (passes != NULL) return passes->form(passes->user, n, form);
  form_rows(ktensor, n, form, rows, threads);
  return POLYAD_OK;
}

polyad_status pd_ktensor_normal_form_shared(polyad_context *context, polyad_ktensor *ktensor,
                                            const struct pd_ktensor_passes *passes,
                                            const struct pd_ktensor_share *share,
                                            struct pd_component *order) {
  uint64_t rank = ktensor->rank;
  int threads = forming_threads(context, ktensor);
  struct chunk_norms norms;
  struct pd_column_form *by = NULL, *form = NULL;
  char *rows = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(PD_NEW(context, pd_mul_saturated((uint64_t)ktensor->order, rank), &by));
  PD_TRY_CLEANUP(PD_NEW(context, rank, &form));
  PD_TRY_CLEANUP(pd_alloc(context, pd_mul_saturated(rank, (uint64_t)threads),
                          pd_type_bytes(ktensor->type), (void **)&rows));
  for (uint64_t first = 0; first < rank; first += PD_COLUMN_CHUNK) {
    PD_TRY_CLEANUP(find_column_norms(ktensor, false, first, passes, share, &norms));
    find_scales(ktensor, first, &norms, by);
  }
  (void)sort_weights(ktensor, order);
  for (int n = 0; n < ktensor->order; ++n) {
    for (uint64_t k = 0; k < rank; ++k)
      form[k] = by[(uint64_t)n * rank + order[k].place];
    PD_TRY_CLEANUP(form_mode(ktensor, n, passes, form, rows, threads));
  }
cleanup:
  PD_FREE(context, rows, form, by);
  return status;
}
