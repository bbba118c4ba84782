/* The strongest rows of a component. */
#include "core/numbers.h"
#include "tensor/ktensor.h"
#include <inttypes.h>
#include <math.h>

static double magnitude(const polyad_ktensor *ktensor, int mode, uint64_t r, uint64_t row) {
  uint64_t at = row * ktensor->rank + r;
  double value = pd_load(ktensor->type, ktensor->factor[mode], at);
  return isnan(value) ? -1 : fabs(value);
}

/* Rows in a heap whose top is the weakest; of equal rows the later one is weaker. */
struct heap {
  const polyad_ktensor *ktensor;
  int mode;
  uint64_t component;
  uint64_t *rows;
};

static bool weaker(const struct heap *heap, uint64_t a, uint64_t b) {
  double x = magnitude(heap->ktensor, heap->mode, heap->component, a);
  double y = magnitude(heap->ktensor, heap->mode, heap->component, b);
  return x < y || (x == y && a > b);
}

static void sink(struct heap *heap, uint64_t at, uint64_t count) {
  uint64_t row = heap->rows[at];
  for (uint64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
    if (child + 1 < count && weaker(heap, heap->rows[child + 1], heap->rows[child])) ++child;
    if (!weaker(heap, heap->rows[child], row)) break;
    heap->rows[at] = heap->rows[child];
    at = child;
  }
  heap->rows[at] = row;
}

polyad_status polyad_ktensor_top(polyad_context *context, const polyad_ktensor *ktensor, int mode,
                                 uint64_t component, uint64_t count, uint64_t *indices) {
  PD_ENTER(context);
  PD_EXPECT(context, ktensor != NULL && indices != NULL && mode >= 0 && mode < ktensor->order,
            "mode %d; expected a mode of the model and a place for the indices",
            pd_shown_mode(context, mode));
  PD_EXPECT(context, component < ktensor->rank && count <= ktensor->dims[mode],
            "%" PRIu64 " rows of component %" PRIu64 "; expected at most %" PRIu64
            " rows and a component below %" PRIu64,
            count, pd_shown(context, component), ktensor->dims[mode],
            pd_shown(context, ktensor->rank));
  if (count == 0) return POLYAD_OK;
  struct heap heap = {ktensor, mode, component, indices};
  for (uint64_t i = 0; i < count; ++i)
    indices[i] = i;
  for (uint64_t i = count / 2; i-- > 0;)
    sink(&heap, i, count);
  for (uint64_t row = count; row < ktensor->dims[mode]; ++row)
    if (weaker(&heap, indices[0], row)) {
      indices[0] = row;
      sink(&heap, 0, count);
    }
  for (uint64_t left = count; left-- > 1;) {
    uint64_t weakest = indices[0];
    indices[0] = indices[left];
    indices[left] = weakest;
    sink(&heap, 0, left);
  }
  return POLYAD_OK;
}
