/* Tensors made from a known model, for algorithms to find again. */
#include "core/numbers.h"
#include "core/radix_sort.h"
#include "core/random.h"
#include "tensor/generate.h"
#include "tensor/ktensor.h"
#include "tensor/ktensor_scale.h"
#include "tensor/tensor_merge.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { THREAD_GRAIN = 1 << 12, ROWS = 16, STEP = 17, ENTRY = 32, EVENT = 64, NOISE = 96 };

/* Between two passes over the events, cells or rows: whether the work is to end. */
static polyad_status go_on(polyad_context *context) {
  if (!pd_cancelled(context)) return POLYAD_OK;
  return pd_fail(context, POLYAD_CANCELLED, "generating was cancelled");
}

static void set_entry(polyad_ktensor *model, void *numbers, uint64_t place, double value) {
  pd_store(model->type, numbers, place, value);
}

static polyad_status new_indices(polyad_context *context, const polyad_ktensor *model,
                                 uint64_t count, void **index) {
  for (int n = 0; n < model->order; ++n)
    PD_TRY(pd_alloc(context, count, (size_t)pd_index_bytes(model->dims[n]), &index[n]));
  return POLYAD_OK;
}

static void free_indices(polyad_context *context, void **index) {
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n) {
    pd_free(context, index[n]);
    index[n] = NULL;
  }
}

static void store_index(const polyad_ktensor *model, void *const *index, int mode, uint64_t p,
                        uint64_t i) {
  if (pd_index_bytes(model->dims[mode]) == 4)
    ((uint32_t *)index[mode])[p] = (uint32_t)i;
  else
    ((uint64_t *)index[mode])[p] = i;
}

/* ---- Gaussian: each component lives in a box of rows, so that the model itself is sparse
 * --------- */

struct progression {
  uint64_t start, step;
};

struct boxes {
  uint64_t seed;
  struct progression *rows;        /* of component r in mode n at [n * rank + r] */
  uint64_t side[POLYAD_MAX_ORDER]; /* rows of each mode in which a component is not zero */
  uint64_t cells;                  /* of one box */
};

static bool boxes_are_full(const polyad_ktensor *model, const struct boxes *boxes) {
  for (int n = 0; n < model->order; ++n)
    if (boxes->side[n] < model->dims[n]) return false;
  return true;
}

/* Grows the boxes to so many cells or to the whole tensor. Long sides grow first: a row more of
 * them adds the smallest share. */
static void grow_boxes(const polyad_ktensor *model, double cells, struct boxes *boxes) {
  while ((double)boxes->cells < cells && !boxes_are_full(model, boxes)) {
    int longest = -1;
    for (int n = 0; n < model->order; ++n)
      if (boxes->side[n] < model->dims[n] && (longest < 0 || boxes->side[n] > boxes->side[longest]))
        longest = n;
    boxes->cells += boxes->cells / boxes->side[longest]++;
  }
}

/* Boxes of the tensor's proportions with about nnz / rank cells. */
static void first_boxes(const polyad_ktensor *model, uint64_t nnz, struct boxes *boxes) {
  double cells = (double)nnz / (double)model->rank, share = cells;
  int long_modes = 0;
  for (int n = 0; n < model->order; ++n) {
    share /= (double)model->dims[n];
    long_modes += model->dims[n] > 1;
  }
  share = pow(share, 1.0 / (long_modes > 0 ? long_modes : 1));
  boxes->cells = 1;
  for (int n = 0; n < model->order; ++n) { /* no side makes the box too large */
    double side = fmin(floor(share * (double)model->dims[n]), cells / (double)boxes->cells);
    boxes->side[n] = side < 1 ? 1 : (uint64_t)side;
    if (boxes->side[n] > model->dims[n]) boxes->side[n] = model->dims[n];
    boxes->cells *= boxes->side[n];
  }
  grow_boxes(model, cells, boxes);
}

/* The rows of a component are an arithmetic progression around the mode, which repeats none; in
 * modes too long for its products they are neighbours. */
static void place_boxes(const polyad_ktensor *model, struct boxes *boxes) {
  for (int n = 0; n < model->order; ++n)
    for (uint64_t r = 0; r < model->rank; ++r) {
      uint64_t dim = model->dims[n], stream = (uint64_t)n * 128;
      struct progression *rows = &boxes->rows[(uint64_t)n * model->rank + r];
      rows->start = pd_random_u64(boxes->seed, stream + ROWS, r) % dim;
      rows->step = 1;
      if (dim > UINT32_MAX) continue;
      rows->step = pd_random_u64(boxes->seed, stream + STEP, r) % dim;
      while (pd_common_divisor(rows->step, dim) != 1)
        ++rows->step;
      rows->step %= dim;
    }
}

static uint64_t generate_model_row_of(const polyad_ktensor *model, const struct boxes *boxes,
                                      int mode, uint64_t r, uint64_t k) {
  const struct progression *rows = &boxes->rows[(uint64_t)mode * model->rank + r];
  uint64_t dim = model->dims[mode], moved = rows->step == 1 ? k : k * rows->step % dim;
  return moved < dim - rows->start ? rows->start + moved : moved - (dim - rows->start);
}

static void fill_boxes(polyad_ktensor *model, const struct boxes *boxes) {
  for (int n = 0; n < model->order; ++n) {
    memset(model->factor[n], 0, model->dims[n] * model->rank * pd_type_bytes(model->type));
    for (uint64_t r = 0; r < model->rank; ++r)
      for (uint64_t k = 0; k < boxes->side[n]; ++k) {
        double entry =
            pd_random_normal(boxes->seed, ENTRY + (uint64_t)n * 128, k * model->rank + r);
        set_entry(model, model->factor[n],
                  generate_model_row_of(model, boxes, n, r, k) * model->rank + r, entry);
      }
  }
}

/* All cells of all boxes, with the model's values. */
static polyad_status cells_of_boxes(polyad_context *context, const polyad_ktensor *model,
                                    const struct boxes *boxes, void **index, void **values) {
  uint64_t count = pd_mul_saturated(boxes->cells, model->rank);
  PD_TRY(new_indices(context, model, count, index));
  PD_TRY(pd_alloc(context, count, pd_type_bytes(model->type), values));
  struct pd_scaled_model scaled;
  PD_TRY(pd_scale_model(context, model, &scaled));
  int threads = pd_threads_for(context, count, THREAD_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < count; ++p) {
    if (pd_cancelled(context)) continue;
    uint64_t coordinate[POLYAD_MAX_ORDER], rest = p % boxes->cells;
    for (int n = model->order - 1; n >= 0; --n) {
      coordinate[n] =
          generate_model_row_of(model, boxes, n, p / boxes->cells, rest % boxes->side[n]);
      rest /= boxes->side[n];
      store_index(model, index, n, p, coordinate[n]);
    }
    double value = ldexp(pd_model_value(&scaled, coordinate), scaled.exponent);
    pd_store(model->type, *values, p, value);
  }
  pd_unscale_model(context, &scaled);
  return go_on(context);
}

/* Keeps the `nnz` values of largest magnitude. */
static polyad_status keep_largest(polyad_context *context, polyad_tensor *tensor, uint64_t nnz) {
  uint64_t drop = tensor->nnz - nnz, *bits = NULL, *place = NULL;
  polyad_status status = POLYAD_OK;
  if (drop == 0) return POLYAD_OK;
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &bits));
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &place));
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    double magnitude = fabs(pd_tensor_value(tensor, p));
    memcpy(&bits[p], &magnitude, sizeof magnitude);
    place[p] = p;
  }
  PD_TRY_CLEANUP(go_on(context));
  PD_TRY_CLEANUP(pd_sort_u64(context, tensor->nnz, bits, 63, place, sizeof *place));
  PD_TRY_CLEANUP(go_on(context));
  for (uint64_t k = 0; k < drop; ++k)
    pd_store(tensor->type, tensor->values, place[k], 0);
  status = pd_tensor_merge(context, tensor, POLYAD_DUPLICATES_SUM, true);
cleanup:
  PD_FREE(context, place, bits);
  return status;
}

static void add_noise(const polyad_context *context, polyad_tensor *tensor, uint64_t seed,
                      double noise) {
  if (noise == 0) return;
  double squares = 0;
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    double normal = pd_random_normal(seed, NOISE, p);
    squares += normal * normal;
  }
  double scale = noise * polyad_tensor_norm(tensor) / sqrt(squares);
  int threads = pd_threads_for(context, tensor->nnz, THREAD_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    double value = pd_tensor_value(tensor, p) + scale * pd_random_normal(seed, NOISE, p);
    if (tensor->type == POLYAD_F32 && (float)value != 0)
      ((float *)tensor->values)[p] = (float)value;
    else if (tensor->type == POLYAD_F64 && value != 0)
      ((double *)tensor->values)[p] = value;
  }
}

static polyad_status gaussian(polyad_context *context, const polyad_generate_options *options,
                              polyad_ktensor *model, polyad_tensor **tensor) {
  struct boxes boxes = {.seed = polyad_seed(context)};
  first_boxes(model, options->nnz, &boxes);
  void *index[POLYAD_MAX_ORDER] = {NULL}, *values = NULL;
  polyad_tensor *made = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(
      PD_NEW(context, pd_mul_saturated((uint64_t)model->order, model->rank), &boxes.rows));
  place_boxes(model, &boxes);
  for (;;) {
    fill_boxes(model, &boxes);
    PD_TRY_CLEANUP(go_on(context));
    PD_TRY_CLEANUP(cells_of_boxes(context, model, &boxes, index, &values));
    PD_TRY_CLEANUP(pd_tensor_create_take(context, model->order, model->dims,
                                         boxes.cells * model->rank, model->type, index, &values,
                                         POLYAD_DUPLICATES_FIRST, POLYAD_ZEROS_DROP, &made));
    if (made->nnz >= options->nnz) break;
    if (boxes_are_full(model, &boxes)) {
      status = pd_fail(context, POLYAD_NUMERICAL,
                       "%" PRIu64 " cells of the model are zero; expected %" PRIu64 " nonzeros",
                       boxes.cells - made->nnz, options->nnz);
      goto cleanup;
    }
    /* Boxes that overlap have fewer cells together. */
    double missing = (double)(options->nnz - made->nnz) / (double)model->rank;
    grow_boxes(model, (double)boxes.cells + (missing < 1 ? 1 : missing), &boxes);
    polyad_tensor_destroy(made);
    made = NULL;
  }
  PD_TRY_CLEANUP(keep_largest(context, made, options->nnz));
  PD_TRY_CLEANUP(go_on(context));
  add_noise(context, made, boxes.seed, options->noise);
  PD_TRY_CLEANUP(go_on(context));
  *tensor = made;
  made = NULL;
cleanup:
  pd_free(context, boxes.rows);
  free_indices(context, index);
  pd_free(context, values);
  polyad_tensor_destroy(made);
  return status;
}

/* ---- Poisson: events fall on cells with the probabilities that the model gives
 * ------------------- */

struct sampler {
  uint64_t seed;
  const polyad_ktensor *model;
  double *weight_below;            /* sums of weights */
  double *below[POLYAD_MAX_ORDER]; /* of each column in turn: sums of its entries */
};

/* First place whose sum lies above the mark. */
static uint64_t generate_model_search(const double *below, uint64_t count, double mark) {
  uint64_t low = 0, high = count - 1;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (mark < below[middle])
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static void draw_event(const struct sampler *sampler, uint64_t event, uint64_t *coordinate) {
  const polyad_ktensor *model = sampler->model;
  uint64_t place = event * (POLYAD_MAX_ORDER + 1);
  double total = sampler->weight_below[model->rank - 1];
  double mark = pd_random_uniform(sampler->seed, EVENT, place++) * total;
  uint64_t r = generate_model_search(sampler->weight_below, model->rank, mark);
  for (int n = 0; n < model->order; ++n) {
    const double *below = sampler->below[n] + r * model->dims[n];
    mark = pd_random_uniform(sampler->seed, EVENT, place++) * below[model->dims[n] - 1];
    coordinate[n] = generate_model_search(below, model->dims[n], mark);
  }
}

static polyad_status draw_events(polyad_context *context, const struct sampler *sampler,
                                 uint64_t count, void *const *index) {
  int threads = pd_threads_for(context, count, THREAD_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t event = 0; event < count; ++event) {
    if (pd_cancelled(context)) continue;
    uint64_t coordinate[POLYAD_MAX_ORDER];
    draw_event(sampler, event, coordinate);
    for (int n = 0; n < sampler->model->order; ++n)
      store_index(sampler->model, index, n, event, coordinate[n]);
  }
  return go_on(context);
}

/* Uneven columns, one entry in ten ten times as large, so that components differ. */
static polyad_status create_sampler(polyad_context *context, polyad_ktensor *model,
                                    struct sampler *sampler) {
  sampler->seed = polyad_seed(context);
  sampler->model = model;
  PD_TRY(PD_NEW(context, model->rank, &sampler->weight_below));
  for (uint64_t r = 0; r < model->rank; ++r)
    set_entry(model, model->weights, r, 0.5 + pd_random_uniform(sampler->seed, STEP, r));
  for (int n = 0; n < model->order; ++n) {
    PD_TRY(go_on(context));
    PD_TRY(PD_NEW(context, pd_mul_saturated(model->dims[n], model->rank), &sampler->below[n]));
    for (uint64_t e = 0; e < model->dims[n] * model->rank; ++e) {
      uint64_t stream = ENTRY + (uint64_t)n * 128;
      double entry = pd_random_uniform(sampler->seed, stream, 2 * e) + 0x1p-20;
      if (pd_random_uniform(sampler->seed, stream, 2 * e + 1) < 0.1) entry *= 10;
      set_entry(model, model->factor[n], e, entry);
    }
  }
  polyad_ktensor_normalize(model, POLYAD_NORM_1);
  double sum = 0;
  for (uint64_t r = 0; r < model->rank; ++r) {
    /* normalizing has put sizes of columns into the weights: draw them afresh */
    double weight = 0.5 + pd_random_uniform(sampler->seed, STEP, r);
    set_entry(model, model->weights, r, weight);
    sampler->weight_below[r] = sum += weight;
  }
  for (int n = 0; n < model->order; ++n)
    for (uint64_t r = 0; r < model->rank; ++r) {
      double column = 0;
      for (uint64_t i = 0; i < model->dims[n]; ++i) {
        uint64_t place = i * model->rank + r;
        column += pd_load(model->type, model->factor[n], place);
        sampler->below[n][r * model->dims[n] + i] = column;
      }
    }
  return POLYAD_OK;
}

static void destroy_sampler(polyad_context *context, struct sampler *sampler) {
  pd_free(context, sampler->weight_below);
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    pd_free(context, sampler->below[n]);
}

static bool generate_model_same_cell(const struct pd_key *keys, int count, uint64_t p, uint64_t q) {
  for (int k = 0; k < count; ++k)
    if (pd_id_at(keys[k].values, keys[k].bytes, p) != pd_id_at(keys[k].values, keys[k].bytes, q))
      return false;
  return true;
}

/* Of the first `count` events, how many it takes to reach `nnz` cells; 0 when they do not. */
static polyad_status events_needed(polyad_context *context, const struct sampler *sampler,
                                   uint64_t count, uint64_t nnz, uint64_t *needed) {
  const polyad_ktensor *model = sampler->model;
  void *index[POLYAD_MAX_ORDER] = {NULL};
  uint64_t *order = NULL, cells = 0;
  polyad_status status = POLYAD_OK;
  struct pd_key keys[POLYAD_MAX_ORDER];
  PD_TRY_CLEANUP(new_indices(context, model, count, index));
  PD_TRY_CLEANUP(PD_NEW(context, count, &order));
  PD_TRY_CLEANUP(draw_events(context, sampler, count, index));
  for (int n = 0; n < model->order; ++n)
    keys[n] = (struct pd_key){index[n], pd_index_bytes(model->dims[n]), model->dims[n]};
  PD_TRY_CLEANUP(pd_sort_permutation(context, count, model->order, keys, 8, order));
  PD_TRY_CLEANUP(go_on(context));
  /* The sort is stable: each run of a cell begins with its first event. */
  for (uint64_t p = 0, run = 0; p < count; ++p)
    if (p == 0 || !generate_model_same_cell(keys, model->order, run, order[p])) {
      run = order[p];
      order[cells++] = run;
    }
  *needed = 0;
  if (cells >= nnz) {
    PD_TRY_CLEANUP(pd_sort_u64(context, cells, order, 64, NULL, 0));
    *needed = order[nnz - 1] + 1;
  }
cleanup:
  free_indices(context, index);
  pd_free(context, order);
  return status;
}

static polyad_status poisson(polyad_context *context, const polyad_generate_options *options,
                             polyad_ktensor *model, polyad_tensor **tensor) {
  struct sampler sampler = {0};
  void *index[POLYAD_MAX_ORDER] = {NULL}, *values = NULL;
  uint64_t needed = 0, limit = pd_add_saturated(pd_mul_saturated(options->nnz, 64), 1 << 20);
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(create_sampler(context, model, &sampler));
  for (uint64_t count = options->nnz + options->nnz / 8; needed == 0; count += count / 2 + 1) {
    if (count > limit) {
      status = pd_fail(context, POLYAD_INVALID_ARGUMENT,
                       "%" PRIu64 " events of the model hit fewer than %" PRIu64
                       " cells; expected fewer nonzeros for dims of this size",
                       count, options->nnz);
      goto cleanup;
    }
    PD_TRY_CLEANUP(events_needed(context, &sampler, count, options->nnz, &needed));
  }
  PD_TRY_CLEANUP(new_indices(context, model, needed, index));
  PD_TRY_CLEANUP(pd_alloc(context, needed, pd_type_bytes(model->type), &values));
  PD_TRY_CLEANUP(draw_events(context, &sampler, needed, index));
  for (uint64_t p = 0; p < needed; ++p)
    set_entry(model, values, p, 1);
  double scale = (double)needed / sampler.weight_below[model->rank - 1];
  for (uint64_t r = 0; r < model->rank; ++r)
    set_entry(model, model->weights, r, pd_ktensor_weight(model, r) * scale);
  status = pd_tensor_create_take(context, model->order, model->dims, needed, model->type, index,
                                 &values, POLYAD_DUPLICATES_SUM, POLYAD_ZEROS_DROP, tensor);
cleanup:
  free_indices(context, index);
  pd_free(context, values);
  destroy_sampler(context, &sampler);
  return status;
}

polyad_status pd_generate_from_model(polyad_context *context,
                                     const polyad_generate_options *options, polyad_tensor **tensor,
                                     polyad_ktensor **truth) {
  polyad_ktensor *model;
  PD_TRY(polyad_ktensor_create(context, options->order, options->dims, options->rank, options->type,
                               &model));
  polyad_status status = options->poisson != 0 ? poisson(context, options, model, tensor)
                                               : gaussian(context, options, model, tensor);
  if (status == POLYAD_OK) { /* overlaps and ties were ours, not of any input */
    (*tensor)->repeats_merged = 0;
    (*tensor)->zeros_dropped = 0;
  }
  if (status == POLYAD_OK && truth != NULL)
    *truth = model;
  else
    polyad_ktensor_destroy(model);
  return status;
}
