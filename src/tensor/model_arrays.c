#include "tensor/model_arrays.h"
#include "tensor/hash_items.h"
#include "tensor/ktensor.h"
#include "tensor/tensor.h"
#include "tensor/ttensor.h"
#include <string.h>

struct pd_model pd_model_of_ktensor(const polyad_ktensor *ktensor) {
  if (ktensor == NULL) return (struct pd_model){.order = 0};
  struct pd_model model = {.order = ktensor->order,
                           .type = ktensor->type,
                           .entries = ktensor->rank,
                           .first = ktensor->weights};
  for (int n = 0; n < model.order; ++n) {
    model.dims[n] = ktensor->dims[n];
    model.ranks[n] = ktensor->rank;
    model.factor[n] = ktensor->factor[n];
  }
  return model;
}

struct pd_model pd_model_of_ttensor(const polyad_ttensor *ttensor) {
  if (ttensor == NULL) return (struct pd_model){.tucker = true};
  struct pd_model model = {.tucker = true,
                           .order = ttensor->order,
                           .type = ttensor->type,
                           .entries = ttensor->core_size,
                           .first = ttensor->core};
  memcpy(model.dims, ttensor->dims, sizeof model.dims);
  memcpy(model.ranks, ttensor->ranks, sizeof model.ranks);
  memcpy(model.factor, ttensor->factor, sizeof model.factor);
  return model;
}

/* Tells whether two models are equal to the last bit. */
static uint64_t model_hash(const polyad_context *context, const struct pd_model *model) {
  uint64_t head[2] = {(uint64_t)model->order, (uint64_t)model->type}, order = head[0];
  size_t bytes = pd_type_bytes(model->type);
  struct pd_wide_hash hash;
  pd_wide_hash_begin(&hash);
  pd_hash_items(&hash, head, 2, sizeof head[0]);
  pd_hash_items(&hash, model->dims, order, sizeof model->dims[0]);
  pd_hash_items(&hash, model->ranks, model->tucker ? order : 1, sizeof model->ranks[0]);
  pd_hash_array(context, &hash, model->first, model->entries, bytes);
  for (int n = 0; n < model->order; ++n)
    pd_hash_array(context, &hash, model->factor[n], model->dims[n] * model->ranks[n], bytes);
  return pd_wide_hash_end(&hash);
}

uint64_t polyad_ktensor_hash(const polyad_ktensor *ktensor) {
  struct pd_model model = pd_model_of_ktensor(ktensor);
  return model_hash(ktensor == NULL ? NULL : ktensor->context, &model);
}

uint64_t polyad_ttensor_hash(const polyad_ttensor *ttensor) {
  struct pd_model model = pd_model_of_ttensor(ttensor);
  return model_hash(ttensor == NULL ? NULL : ttensor->context, &model);
}
