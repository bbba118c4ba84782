/* Life and properties of a Tucker tensor. */
#include "tensor/ttensor.h"
#include "tensor/tensor.h"
#include <inttypes.h>

uint64_t pd_ttensor_bytes(int order, const uint64_t *dims, const uint64_t *ranks,
                          polyad_type type) {
  uint64_t core = 1, numbers = 0;
  for (int n = 0; n < order; ++n) {
    core = pd_mul_saturated(core, ranks[n]);
    numbers = pd_add_saturated(numbers, pd_mul_saturated(dims[n], ranks[n]));
  }
  return pd_mul_saturated(pd_add_saturated(core, numbers), pd_type_bytes(type));
}

static polyad_status ttensor_check_shape(polyad_context *context, int order, const uint64_t *dims,
                                         const uint64_t *ranks) {
  PD_EXPECT(context, order >= 1 && order <= POLYAD_MAX_ORDER, "order %d; expected 1 to %d", order,
            POLYAD_MAX_ORDER);
  uint64_t core = 1;
  for (int n = 0; n < order; ++n) {
    PD_EXPECT(context, dims[n] != 0 && dims[n] <= INT64_MAX,
              "mode %d has length %" PRIu64 "; expected 1 to %" PRId64, pd_shown_mode(context, n),
              dims[n], INT64_MAX);
    PD_EXPECT(context, ranks[n] != 0, "mode %d has rank 0; expected at least 1",
              pd_shown_mode(context, n));
    if (!pd_mul(core, ranks[n], &core))
      return pd_fail(context, POLYAD_OVERFLOW,
                     "the core has more than 2^64 numbers: the product of the ranks is too large");
  }
  return POLYAD_OK;
}

polyad_status polyad_ttensor_create(polyad_context *context, int order, const uint64_t *dims,
                                    const uint64_t *ranks, polyad_type type,
                                    polyad_ttensor **ttensor) {
  PD_ENTER(context);
  if (ttensor != NULL) *ttensor = NULL;
  if (ttensor == NULL || dims == NULL || ranks == NULL ||
      (type != POLYAD_F32 && type != POLYAD_F64))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "type %d; expected POLYAD_F32 or POLYAD_F64, dims, ranks and a place for the "
                   "result",
                   (int)type);
  PD_TRY(ttensor_check_shape(context, order, dims, ranks));
  PD_TRY(pd_memory_check(context, pd_ttensor_bytes(order, dims, ranks, type), "a Tucker tensor"));
  polyad_status status = POLYAD_OK;
  polyad_ttensor *made;
  PD_TRY(PD_NEW_ZERO(context, 1, &made));
  *made = (polyad_ttensor){.context = context, .order = order, .core_size = 1, .type = type};
  for (int n = 0; n < order; ++n) {
    made->dims[n] = dims[n];
    made->ranks[n] = ranks[n];
    made->core_size *= ranks[n];
    PD_TRY_CLEANUP(pd_alloc_zero(context, pd_mul_saturated(dims[n], ranks[n]), pd_type_bytes(type),
                                 &made->factor[n]));
  }
  PD_TRY_CLEANUP(pd_alloc_zero(context, made->core_size, pd_type_bytes(type), &made->core));
  *ttensor = made;
  made = NULL;
cleanup:
  polyad_ttensor_destroy(made);
  return status;
}

void polyad_ttensor_destroy(polyad_ttensor *ttensor) {
  if (ttensor == NULL) return;
  for (int n = 0; n < ttensor->order; ++n)
    pd_free(ttensor->context, ttensor->factor[n]);
  PD_FREE(ttensor->context, ttensor->core, ttensor);
}

int polyad_ttensor_order(const polyad_ttensor *ttensor) { return ttensor->order; }

const uint64_t *polyad_ttensor_dims(const polyad_ttensor *ttensor) { return ttensor->dims; }

const uint64_t *polyad_ttensor_ranks(const polyad_ttensor *ttensor) { return ttensor->ranks; }

polyad_type polyad_ttensor_type(const polyad_ttensor *ttensor) { return ttensor->type; }

uint64_t polyad_ttensor_core_size(const polyad_ttensor *ttensor) { return ttensor->core_size; }

void *polyad_ttensor_core(polyad_ttensor *ttensor) { return ttensor->core; }

void *polyad_ttensor_factor(polyad_ttensor *ttensor, int mode) {
  return mode < 0 || mode >= ttensor->order ? NULL : ttensor->factor[mode];
}
