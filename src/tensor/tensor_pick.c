/* Tensors of some of another's entries. At random they are chosen by selection sampling (Knuth, The
 * Art of Computer Programming, volume 2, algorithm S): entries are visited in order, and each goes
 * to a part with the probability of what that part still lacks among those that are left, so that
 * every part gets exactly as many as it should and keeps the order. */
#include "tensor/tensor_pick.h"
#include "core/random.h"
#include <math.h>
#include <polyad/completion.h>
#include <string.h>

polyad_status pd_tensor_pick(polyad_context *context, const polyad_tensor *tensor, uint64_t count,
                             const uint64_t *place, polyad_tensor **part) {
  void *index[POLYAD_MAX_ORDER] = {NULL}, *values = NULL;
  polyad_status status = POLYAD_OK;
  size_t bytes = pd_type_bytes(tensor->type);
  *part = NULL;
  for (int n = 0; n < tensor->order; ++n) {
    PD_TRY_CLEANUP(pd_alloc(context, count, (size_t)tensor->index_bytes[n], &index[n]));
    for (uint64_t k = 0; k < count; ++k) {
      if (tensor->index_bytes[n] == 4)
        ((uint32_t *)index[n])[k] = ((const uint32_t *)tensor->index[n])[place[k]];
      else
        ((uint64_t *)index[n])[k] = ((const uint64_t *)tensor->index[n])[place[k]];
    }
  }
  PD_TRY_CLEANUP(pd_alloc(context, count, bytes, &values));
  for (uint64_t k = 0; k < count; ++k)
    memcpy((char *)values + k * bytes, (const char *)tensor->values + place[k] * bytes, bytes);
  status = pd_tensor_create_take(context, tensor->order, tensor->dims, count, tensor->type, index,
                                 &values, POLYAD_DUPLICATES_ERROR, tensor->zeros, part);
cleanup:
  for (int n = 0; n < tensor->order; ++n)
    pd_free(context, index[n]);
  pd_free(context, values);
  return status;
}

/* No start of a method and no fold uses this stream. */
static const uint64_t split_stream = UINT64_MAX / 2;

/* The part that entry q goes to: one of those that still lack some, in proportion. */
static int choose_part(uint64_t seed, uint64_t q, uint64_t left, int parts, uint64_t *lacking) {
  uint64_t draw = (uint64_t)(pd_random_uniform(seed, split_stream, q) * (double)left);
  if (draw >= left) draw = left - 1;
  int k = 0;
  while (k < parts && draw >= lacking[k])
    draw -= lacking[k++];
  --lacking[k];
  return k;
}

polyad_status pd_deal(polyad_context *context, uint64_t count, int parts, const double *shares,
                      uint64_t **place, uint64_t *taken) {
  uint64_t *lacking = NULL, rest = count;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(PD_NEW(context, (uint64_t)parts + 1, &lacking));
  for (int k = 0; k <= parts; ++k) {
    uint64_t wanted = k < parts ? (uint64_t)llround(shares[k] * (double)count) : rest;
    lacking[k] = wanted < rest ? wanted : rest;
    rest -= lacking[k];
    taken[k] = 0;
    PD_TRY_CLEANUP(PD_NEW(context, lacking[k], &place[k]));
  }
  uint64_t seed = polyad_seed(context);
  for (uint64_t q = 0; q < count; ++q) {
    int k = choose_part(seed, q, count - q, parts, lacking);
    place[k][taken[k]++] = q;
  }
cleanup:
  pd_free(context, lacking);
  return status;
}

static polyad_status check_shares(polyad_context *context, int count, const double *shares) {
  double sum = 0;
  PD_EXPECT(context, count >= 1 && count <= 64, "%d shares found; expected 1 to 64", count);
  for (int k = 0; k < count; ++k) {
    PD_EXPECT(context, shares[k] > 0, "a share of %g found; expected above 0", shares[k]);
    sum += shares[k];
  }
  if (sum < 1) return POLYAD_OK;
  return pd_fail(context, POLYAD_INVALID_ARGUMENT, "shares of %g together found; expected below 1",
                 sum);
}

/* One part, with names and labels, which keeps zeros. */
static polyad_status make_part(polyad_context *context, const polyad_tensor *tensor, uint64_t count,
                               const uint64_t *place, polyad_tensor **part) {
  PD_TRY(pd_tensor_pick(context, tensor, count, place, part));
  for (int n = 0; n < tensor->order; ++n)
    PD_TRY(pd_tensor_copy_names(context, tensor, n, *part));
  return POLYAD_OK;
}

polyad_status polyad_tensor_split(polyad_context *context, const polyad_tensor *tensor, int count,
                                  const double *shares, polyad_tensor **parts) {
  uint64_t *place[65] = {NULL}, taken[65] = {0};
  polyad_status status = POLYAD_OK;
  PD_ENTER(context);
  PD_EXPECT(context, tensor != NULL && shares != NULL && parts != NULL,
            "tensor, shares or parts is NULL");
  for (int k = 0; k <= count; ++k)
    parts[k] = NULL;
  PD_TRY(check_shares(context, count, shares));
  PD_TRY_CLEANUP(pd_deal(context, tensor->nnz, count, shares, place, taken));
  for (int k = 0; k <= count; ++k)
    PD_TRY_CLEANUP(make_part(context, tensor, taken[k], place[k], &parts[k]));
cleanup:
  for (int k = 0; k <= count; ++k) {
    pd_free(context, place[k]);
    if (status == POLYAD_OK) continue;
    polyad_tensor_destroy(parts[k]);
    parts[k] = NULL;
  }
  return status;
}
