/* Completion by stochastic gradient descent. Every mode's rows are divided into B parts with about
 * equally many observations, and so the observations into B^N blocks. B blocks of which no two
 * share a part of any mode are a stratum: they change different rows, so that they may be worked on
 * at once (Gemulla, Nijkamp, Haas and Sismanis 2011). B depends on the observations alone, and
 * within a block steps are taken one after the other: the bits do not depend on the number of
 * threads. An epoch visits all strata in a random order; each block has a random order of its own,
 * and every epoch begins at another of its observations.
 *
 * The gradient of the ridge is dealt out over a row's observations, so that an epoch goes down the
 * same objective as the other methods. A row's steps are the learning rate over the root of the sum
 * of its squared gradients (AdaGrad; Duchi, Hazan and Singer 2011), for some rows have a thousand
 * times the observations of others. Each epoch forgets nine tenths of the sum: far from the minimum
 * gradients were large, and steps that remember them for ever crawl through the flat parts behind.
 * The rate grows while the objective falls, and is halved when it does not, which makes the steps
 * small in the end; then the epoch is undone. */
#include "algorithms/complete_state.h"
#include "core/random.h"
#include <math.h>
#include <omp.h>
#include <string.h>

enum { MOST_PARTS = 16, LEAST_BLOCK = 256 };

struct pd_complete_blocks {
  uint64_t parts, strata;
  uint64_t *first;   /* strata * parts + 1: where each block begins in `order` */
  uint64_t *order;   /* observations by strata, by blocks, and in a block at random */
  uint64_t *stratum; /* strata, in the order of the running epoch */
  double *products;  /* of each thread: of a step */
};

/* No start's first factors and no split use these streams. */
static const uint64_t shuffle_stream = UINT64_MAX / 4, epoch_stream = UINT64_MAX / 4 + 1,
                      offset_stream = UINT64_MAX / 4 + 2;

/* ---- blocks --------------------------------------------------------------------------------- */

/* The largest power of two whose blocks are not too small. */
static uint64_t choose_parts(const struct pd_observations *o) {
  uint64_t parts = MOST_PARTS;
  for (; parts > 1; parts /= 2) {
    uint64_t blocks = LEAST_BLOCK;
    for (int n = 0; n < o->order; ++n)
      blocks = pd_mul_saturated(blocks, parts);
    if (blocks <= o->count) break;
  }
  return parts;
}

static uint64_t complete_sgd_part_of(const struct pd_observations *o, uint64_t parts, int mode,
                                     uint64_t i) {
  uint64_t part = (uint64_t)((double)o->rows[mode].start[i] / (double)o->count * (double)parts);
  return part < parts ? part : parts - 1;
}

/* Number of the block of an observation: its stratum times B, and its part of mode 0. */
static uint64_t complete_sgd_block_of(const struct pd_observations *o, uint64_t parts, uint64_t q) {
  uint64_t zero = complete_sgd_part_of(o, parts, 0, o->cell[0][q]), stratum = 0;
  for (int n = 1; n < o->order; ++n) {
    uint64_t part = complete_sgd_part_of(o, parts, n, o->cell[n][q]);
    stratum = stratum * parts + (part + parts - zero) % parts;
  }
  return stratum * parts + zero;
}

static void complete_sgd_shuffle(uint64_t seed, uint64_t stream, uint64_t base, uint64_t count,
                                 uint64_t *list) {
  for (uint64_t k = count; k > 1; --k) {
    uint64_t other = pd_random_u64(seed, stream, base + k) % k, swap = list[k - 1];
    list[k - 1] = list[other];
    list[other] = swap;
  }
}

static void sort_into_blocks(struct pd_complete *c) {
  const struct pd_observations *o = c->seen;
  struct pd_complete_blocks *b = c->blocks;
  uint64_t blocks = b->strata * b->parts, seed = polyad_seed(c->context);
  for (uint64_t q = 0; q < o->count; ++q)
    ++b->first[complete_sgd_block_of(o, b->parts, q) + 1];
  for (uint64_t k = 0; k < blocks; ++k)
    b->first[k + 1] += b->first[k];
  for (uint64_t q = 0; q < o->count; ++q)
    b->order[b->first[complete_sgd_block_of(o, b->parts, q)]++] = q;
  for (uint64_t k = blocks; k > 0; --k)
    b->first[k] = b->first[k - 1];
  b->first[0] = 0;
  for (uint64_t k = 0; k < blocks; ++k)
    complete_sgd_shuffle(seed, shuffle_stream, b->first[k], b->first[k + 1] - b->first[k],
                         b->order + b->first[k]);
}

static uint64_t room_of_products(const struct pd_complete *c) {
  return (uint64_t)c->order * c->fitted.rank;
}

polyad_status pd_complete_blocks_create(struct pd_complete *c) {
  PD_TRY(PD_NEW_ZERO(c->context, 1, &c->blocks));
  struct pd_complete_blocks *b = c->blocks;
  b->parts = choose_parts(c->seen);
  b->strata = 1;
  for (int n = 1; n < c->order; ++n)
    b->strata *= b->parts;
  PD_TRY(PD_NEW_ZERO(c->context, pd_add_saturated(pd_mul_saturated(b->strata, b->parts), 1),
                     &b->first));
  PD_TRY(PD_NEW(c->context, c->seen->count, &b->order));
  PD_TRY(PD_NEW(c->context, b->strata, &b->stratum));
  PD_TRY(PD_NEW(c->context, pd_mul_saturated((uint64_t)c->threads, room_of_products(c)),
                &b->products));
  sort_into_blocks(c);
  return POLYAD_OK;
}

void pd_complete_blocks_destroy(struct pd_complete *c) {
  if (c->blocks == NULL) return;
  PD_FREE(c->context, c->blocks->first, c->blocks->order, c->blocks->stratum, c->blocks->products,
          c->blocks);
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* h[n] = the product of the other modes' rows, for all modes from rows as they are; returns what
 * the model misses at the observation. */
static double complete_sgd_gather(const struct pd_complete *c, uint64_t q, double *const *row,
                                  double *h) {
  size_t rank = c->fitted.rank;
  double missed = c->seen->value[q];
  for (int n = 0; n < c->order; ++n) {
    double *product = h + (size_t)n * rank;
    for (size_t r = 0; r < rank; ++r)
      product[r] = 1;
    for (int m = 0; m < c->order; ++m)
      for (size_t r = 0; r < rank && m != n; ++r)
        product[r] *= row[m][r];
    if (pd_completed_biases(&c->fitted)) missed -= row[n][rank];
  }
  for (size_t r = 0; r < rank; ++r)
    missed -= row[0][r] * h[r];
  return missed;
}

/* One step of a row: numbers[r] -= rate gradient[r] / root of the sum of the row's mean squared
 * gradients so far, this one included. The gradient is ridge x - missed h. */
static void step_row(const struct pd_complete *c, double *x, const double *h, size_t count,
                     double missed, double ridge, bool bounded, double *squares) {
  double square = 0;
  for (size_t r = 0; r < count; ++r) {
    double gradient = ridge * x[r] - missed * h[r];
    square += gradient * gradient;
  }
  *squares += square / (double)count;
  if (!(*squares > 0)) return;
  double rate = c->rate / sqrt(*squares);
  for (size_t r = 0; r < count; ++r) {
    double next = x[r] - rate * (ridge * x[r] - missed * h[r]);
    x[r] = bounded && next < 0 ? 0 : next;
  }
}

static void complete_sgd_step(const struct pd_complete *c, uint64_t q, double *h) {
  static const double one = 1;
  double *row[POLYAD_MAX_ORDER];
  for (int n = 0; n < c->order; ++n)
    row[n] = pd_completed_row(&c->fitted, n, c->seen->cell[n][q]);
  double missed = complete_sgd_gather(c, q, row, h) * pd_observed_weight(c->seen, q);
  for (int n = 0; n < c->order; ++n) {
    uint64_t i = c->seen->cell[n][q], count = pd_observed_count(&c->seen->rows[n], i);
    double *squares = (double *)c->squares[n].data + 2 * i;
    step_row(c, row[n], h + (size_t)n * c->fitted.rank, c->fitted.rank, missed,
             pd_completed_ridge(&c->fitted, false, count) / (double)count,
             pd_nonnegative_in(c->nonnegative, n), squares);
    if (pd_completed_biases(&c->fitted))
      step_row(c, row[n] + c->fitted.rank, &one, 1, missed,
               pd_completed_ridge(&c->fitted, true, count) / (double)count, false, squares + 1);
  }
}

static void complete_sgd_run_block(const struct pd_complete *c, uint64_t block, uint64_t epoch,
                                   double *h) {
  const struct pd_complete_blocks *b = c->blocks;
  uint64_t first = b->first[block], count = b->first[block + 1] - first;
  if (count == 0) return;
  uint64_t blocks = b->strata * b->parts;
  uint64_t begin =
      pd_random_u64(polyad_seed(c->context), offset_stream, epoch * blocks + block) % count;
  for (uint64_t k = begin; k < count; ++k)
    complete_sgd_step(c, b->order[first + k], h);
  for (uint64_t k = 0; k < begin; ++k)
    complete_sgd_step(c, b->order[first + k], h);
}

/* Of the sums of squared gradients, at the beginning of an epoch. */
static const double remembered = 0.1;

static void forget_gradients(const struct pd_complete *c) {
  for (int n = 0; n < c->order; ++n)
    for (uint64_t i = 0; i < 2 * c->seen->dims[n]; ++i)
      ((double *)c->squares[n].data)[i] *= remembered;
}

static void run_epoch(struct pd_complete *c) {
  struct pd_complete_blocks *b = c->blocks;
  uint64_t epoch = (uint64_t)c->run.iteration;
  forget_gradients(c);
  for (uint64_t s = 0; s < b->strata; ++s)
    b->stratum[s] = s;
  complete_sgd_shuffle(polyad_seed(c->context), epoch_stream, epoch * b->strata, b->strata,
                       b->stratum);
  for (uint64_t s = 0; s < b->strata; ++s) {
#pragma omp parallel for num_threads(c->threads) schedule(dynamic, 1)
    for (uint64_t k = 0; k < b->parts; ++k)
      complete_sgd_run_block(c, b->stratum[s] * b->parts + k, epoch,
                             b->products + (size_t)omp_get_thread_num() * room_of_products(c));
  }
}

/* Rows without observations are those of the other methods: 0. */
static void clear_unseen(const struct pd_complete *c) {
  for (int n = 0; n < c->order; ++n)
    for (uint64_t i = 0; i < c->seen->dims[n]; ++i)
      if (pd_observed_count(&c->seen->rows[n], i) == 0)
        memset(pd_completed_row(&c->fitted, n, i), 0, c->fitted.columns * sizeof(double));
}

static void copy_factors(const struct pd_complete *c, const struct pd_matrix *from,
                         const struct pd_matrix *to) {
  for (int n = 0; n < c->order; ++n)
    memcpy(to[n].data, from[n].data, from[n].rows * from[n].stride * sizeof(double));
}

polyad_status pd_complete_iterate_sgd(struct pd_complete *c, double *seconds) {
  double began = pd_seconds();
  if (c->run.iteration == 0) {
    clear_unseen(c);
    PD_TRY(pd_complete_measure(c));
  }
  struct pd_complete_score before = c->now;
  copy_factors(c, c->fitted.factor, c->before);
  run_epoch(c);
  for (int n = 0; n < c->order; ++n)
    seconds[n] = (pd_seconds() - began) / c->order;
  polyad_status status = pd_complete_measure(c);
  if (status != POLYAD_OK && status != POLYAD_NUMERICAL) return status;
  c->undone = status != POLYAD_OK || c->now.objective > before.objective;
  c->rate *= c->undone ? 0.5 : 1.05;
  if (!c->undone) return POLYAD_OK;
  pd_begin(c->context);
  copy_factors(c, c->before, c->fitted.factor);
  c->now = before;
  return POLYAD_OK;
}
