/* The sums of an updater in a file: a binary model (.ptm) whose factors hold them, so that its
 * checksums, its checks and its other properties are those of every model file. With R the rank,
 *
 *   weights             those of the model
 *   factor n            P_n, and below it the R rows of Q_n
 *   growing factor      row by row: 3 (of counts 4), the halves of the model's hash, the growing
 * mode, the logarithm of all forgetting, then the clock of every slice; zeros after it
 *
 * Modes are named "polyad update". */
#include "algorithms/updater.h"
#include <math.h>
#include <polyad/io.h>
#include <string.h>

enum { HEAD = 5 };

/* Which sums they are: of squares, or of counts. In versions 1 and 2 the hashes of long models were
 * others. */
static double version_of(const polyad_updater *updater) {
  return updater->kind == POLYAD_KIND_POISSON ? 4 : 3;
}

static const char mark[] = "polyad update";

static uint64_t rows_of_clock(uint64_t slices, uint64_t rank) {
  return (HEAD + slices + rank - 1) / rank;
}

static void state_dims(const struct pd_double_model *model, int mode, uint64_t *dims) {
  for (int n = 0; n < model->order; ++n)
    dims[n] = n == mode ? rows_of_clock(model->rows[n], model->rank) : model->rows[n] + model->rank;
}

static void write_head(const polyad_updater *updater, const polyad_ktensor *model, double *to) {
  uint64_t hash = polyad_ktensor_hash(model);
  to[0] = version_of(updater);
  to[1] = (double)(hash >> 32);
  to[2] = (double)(hash & UINT32_MAX);
  to[3] = updater->options.mode;
  to[4] = updater->now;
}

static polyad_status name_modes(polyad_context *context, const uint64_t *dims, int order,
                                polyad_tensor **outline) {
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  input.order = order;
  input.dims = dims;
  PD_TRY(polyad_tensor_create(context, &input, outline));
  for (int n = 0; n < order; ++n)
    PD_TRY(polyad_tensor_set_labels(context, *outline, n, mark, NULL));
  return POLYAD_OK;
}

polyad_status polyad_updater_write(polyad_context *context, const polyad_updater *updater,
                                   const polyad_ktensor *model, const char *path) {
  PD_ENTER(context);
  PD_EXPECT(context, updater != NULL && model != NULL && path != NULL,
            "updater, model or path is NULL");
  const struct pd_double_model *from = &updater->model;
  uint64_t dims[POLYAD_MAX_ORDER], rank = from->rank;
  polyad_ktensor *state = NULL;
  polyad_tensor *outline = NULL;
  polyad_status status = POLYAD_OK;
  state_dims(from, updater->options.mode, dims);
  PD_TRY_CLEANUP(polyad_ktensor_create(context, from->order, dims, rank, POLYAD_F64, &state));
  memcpy(state->weights, from->weight, rank * sizeof(double));
  for (int n = 0; n < from->order; ++n) {
    double *to = state->factor[n];
    if (n == updater->options.mode) {
      write_head(updater, model, to);
      memcpy(to + HEAD, updater->clock, from->rows[n] * sizeof *to);
    } else {
      memcpy(to, updater->sums[n].p, from->rows[n] * rank * sizeof *to);
      memcpy(to + from->rows[n] * rank, updater->sums[n].q, rank * rank * sizeof *to);
    }
  }
  PD_TRY_CLEANUP(name_modes(context, dims, from->order, &outline));
  status = polyad_ktensor_write_labelled(context, state, outline, path);
cleanup:
  polyad_ktensor_destroy(state);
  polyad_tensor_destroy(outline);
  return status;
}

static polyad_status refuse(polyad_context *context, const char *path, const char *why) {
  return pd_fail_at(context, POLYAD_MISMATCH, path, 0, 0,
                    "%s; expected the sums that belong to the model", why);
}

static polyad_status updater_state_check_state(polyad_context *context, const char *path,
                                               const polyad_ktensor *model,
                                               const polyad_updater *updater,
                                               const polyad_ktensor *state) {
  uint64_t dims[POLYAD_MAX_ORDER], hash = polyad_ktensor_hash(model);
  int mode = updater->options.mode;
  bool same = state->order == model->order && state->rank == model->rank;
  state_dims(&updater->model, mode, dims);
  for (int n = 0; same && n < model->order; ++n)
    same = state->dims[n] == dims[n];
  if (!same) return refuse(context, path, "sums of other dims or of another growing mode");
  const double *head = state->factor[mode];
  if (head[0] == 1 || head[0] == 2)
    return refuse(context, path, "sums that an earlier version of polyad wrote");
  if (head[0] != version_of(updater) || head[3] != mode)
    return refuse(context, path, "no sums of this growing mode and kind of model");
  if (head[1] != (double)(hash >> 32) || head[2] != (double)(hash & UINT32_MAX))
    return refuse(context, path, "sums of another model");
  return POLYAD_OK;
}

static void take_state(polyad_updater *updater, const polyad_ktensor *state) {
  uint64_t rank = state->rank;
  for (int n = 0; n < state->order; ++n) {
    const double *from = state->factor[n];
    uint64_t rows = updater->model.rows[n];
    if (n == updater->options.mode) {
      updater->now = from[HEAD - 1];
      memcpy(updater->clock, from + HEAD, rows * sizeof *from);
    } else {
      memcpy(updater->sums[n].p, from, rows * rank * sizeof *from);
      memcpy(updater->sums[n].q, from + rows * rank, rank * rank * sizeof *from);
    }
  }
}

polyad_status polyad_updater_read(polyad_context *context, const char *path,
                                  const polyad_ktensor *model, const polyad_update_options *options,
                                  polyad_updater **updater) {
  PD_ENTER(context);
  PD_EXPECT(context, model != NULL && options != NULL && updater != NULL && path != NULL,
            "path, model, options or updater is NULL");
  polyad_ktensor *state = NULL;
  *updater = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(polyad_ktensor_read(context, path, POLYAD_F64, &state));
  PD_TRY_CLEANUP(pd_updater_start(context, model, options, updater));
  PD_TRY_CLEANUP(updater_state_check_state(context, path, model, *updater, state));
  take_state(*updater, state);
cleanup:
  polyad_ktensor_destroy(state);
  if (status != POLYAD_OK) {
    polyad_updater_destroy(*updater);
    *updater = NULL;
  }
  return status;
}
