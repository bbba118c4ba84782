/* Life and properties of a Kruskal tensor. */
#include "tensor/ktensor.h"
#include "core/numbers.h"
#include "tensor/tensor.h"
#include <inttypes.h>

static polyad_status ktensor_check_shape(polyad_context *context, int order, const uint64_t *dims,
                                         uint64_t rank) {
  PD_EXPECT(context, order >= 1 && order <= POLYAD_MAX_ORDER, "order %d; expected 1 to %d", order,
            POLYAD_MAX_ORDER);
  PD_EXPECT(context, rank != 0, "rank 0; expected at least 1");
  for (int n = 0; n < order; ++n)
    PD_EXPECT(context, dims[n] != 0 && dims[n] <= INT64_MAX,
              "mode %d has length %" PRIu64 "; expected 1 to %" PRId64, pd_shown_mode(context, n),
              dims[n], INT64_MAX);
  return POLYAD_OK;
}

/* All factors are asked for before the first is allocated, so that the message names what the
 * whole model needs. */
static polyad_status ktensor_check_memory(polyad_context *context, int order, const uint64_t *dims,
                                          uint64_t rank, polyad_type type) {
  uint64_t rows = 1;
  for (int n = 0; n < order; ++n)
    rows = pd_add_saturated(rows, dims[n]);
  uint64_t row_bytes = pd_mul_saturated(rank, pd_type_bytes(type));
  return pd_memory_check(context, pd_mul_saturated(rows, row_bytes), "a Kruskal tensor");
}

polyad_status polyad_ktensor_create(polyad_context *context, int order, const uint64_t *dims,
                                    uint64_t rank, polyad_type type, polyad_ktensor **ktensor) {
  PD_ENTER(context);
  return pd_ktensor_create(context, order, dims, rank, type, true, ktensor);
}

polyad_status pd_ktensor_create(polyad_context *context, int order, const uint64_t *dims,
                                uint64_t rank, polyad_type type, bool zeros,
                                polyad_ktensor **ktensor) {
  if (ktensor != NULL) *ktensor = NULL;
  if (ktensor == NULL || dims == NULL || (type != POLYAD_F32 && type != POLYAD_F64))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "type %d; expected POLYAD_F32 or POLYAD_F64, dims and a place for the result",
                   (int)type);
  PD_TRY(ktensor_check_shape(context, order, dims, rank));
  PD_TRY(ktensor_check_memory(context, order, dims, rank, type));

  polyad_ktensor *made;
  PD_TRY(PD_NEW_ZERO(context, 1, &made));
  made->context = context;
  made->order = order;
  made->rank = rank;
  made->type = type;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_alloc(context, rank, pd_type_bytes(type), &made->weights));
  for (uint64_t r = 0; r < rank; ++r)
    pd_store(type, made->weights, r, 1);
  for (int n = 0; n < order; ++n) {
    uint64_t count = pd_mul_saturated(dims[n], rank);
    made->dims[n] = dims[n];
    PD_TRY_CLEANUP(pd_alloc(context, count, pd_type_bytes(type), &made->factor[n]));
    if (zeros) pd_fill_zero(context, made->factor[n], count * pd_type_bytes(type));
  }
  *ktensor = made;
  return POLYAD_OK;

cleanup:
  polyad_ktensor_destroy(made);
  return status;
}

void polyad_ktensor_destroy(polyad_ktensor *ktensor) {
  if (ktensor == NULL) return;
  for (int n = 0; n < ktensor->order; ++n)
    pd_free(ktensor->context, ktensor->factor[n]);
  PD_FREE(ktensor->context, ktensor->weights, ktensor);
}

int polyad_ktensor_order(const polyad_ktensor *ktensor) { return ktensor->order; }

const uint64_t *polyad_ktensor_dims(const polyad_ktensor *ktensor) { return ktensor->dims; }

uint64_t polyad_ktensor_rank(const polyad_ktensor *ktensor) { return ktensor->rank; }

polyad_type polyad_ktensor_type(const polyad_ktensor *ktensor) { return ktensor->type; }

void *polyad_ktensor_weights(polyad_ktensor *ktensor) { return ktensor->weights; }

void *polyad_ktensor_factor(polyad_ktensor *ktensor, int mode) {
  return mode < 0 || mode >= ktensor->order ? NULL : ktensor->factor[mode];
}
