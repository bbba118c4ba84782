/* Hashes that tell whether two models are equal to the last bit. */
#include "tensor/hash_items.h"
#include "tensor/ktensor.h"
#include "tensor/tensor.h"
#include "tensor/ttensor.h"

static void model_hash_begin(XXH3_state_t *state, int order, polyad_type type,
                             const uint64_t *dims) {
  uint64_t head[2] = {(uint64_t)order, (uint64_t)type};
  XXH3_INITSTATE(state);
  (void)XXH3_64bits_reset(state);
  pd_hash_items(state, head, 2, sizeof head[0]);
  pd_hash_items(state, dims, (uint64_t)order, sizeof dims[0]);
}

uint64_t polyad_ktensor_hash(const polyad_ktensor *ktensor) {
  XXH3_state_t state;
  size_t bytes = pd_type_bytes(ktensor->type);
  model_hash_begin(&state, ktensor->order, ktensor->type, ktensor->dims);
  pd_hash_items(&state, &ktensor->rank, 1, sizeof ktensor->rank);
  pd_hash_items(&state, ktensor->weights, ktensor->rank, bytes);
  for (int n = 0; n < ktensor->order; ++n)
    pd_hash_items(&state, ktensor->factor[n], ktensor->dims[n] * ktensor->rank, bytes);
  return XXH3_64bits_digest(&state);
}

uint64_t polyad_ttensor_hash(const polyad_ttensor *ttensor) {
  XXH3_state_t state;
  size_t bytes = pd_type_bytes(ttensor->type);
  model_hash_begin(&state, ttensor->order, ttensor->type, ttensor->dims);
  pd_hash_items(&state, ttensor->ranks, (uint64_t)ttensor->order, sizeof ttensor->ranks[0]);
  pd_hash_items(&state, ttensor->core, ttensor->core_size, bytes);
  for (int n = 0; n < ttensor->order; ++n)
    pd_hash_items(&state, ttensor->factor[n], ttensor->dims[n] * ttensor->ranks[n], bytes);
  return XXH3_64bits_digest(&state);
}
