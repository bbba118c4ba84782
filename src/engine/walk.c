/* Workspaces of walks: a struct of the walk's own with a list of its arrays, which are freed
 * together. */
#include "engine/op.h"
#include <assert.h>

polyad_status pd_scratch_array(struct pd_scratch *scratch, uint64_t count, size_t size,
                               void **out) {
  struct pd_scratch *root = scratch->root;
  const struct pd_device *device = root->device;
  *out = NULL;
  assert(root->count < PD_SCRATCH_MOST);
  if (device->functions->host_memory)
    PD_TRY(pd_alloc(root->context, count, size, out));
  else
    PD_TRY(device->functions->allocate(root->context, device, pd_mul_saturated(count, size), out));
  root->array[root->count++] = *out;
  return POLYAD_OK;
}

polyad_status pd_scratch_zeros(struct pd_scratch *scratch, uint64_t count, size_t size,
                               void **out) {
  PD_TRY(pd_scratch_array(scratch, count, size, out));
  memset(*out, 0, count * size);
  return POLYAD_OK;
}

polyad_status pd_walk_open(polyad_context *context, const struct pd_walk *walk,
                           const struct pd_device *device, const void *storage,
                           const uint64_t *ranks, void **out) {
  struct pd_scratch *scratch;
  *out = NULL;
  PD_TRY(pd_alloc_zero(context, 1, walk->scratch_bytes, (void **)&scratch));
  scratch->context = context;
  scratch->device = device;
  scratch->walk = walk;
  scratch->root = scratch;
  polyad_status status = walk->fill(context, storage, ranks, scratch);
  if (status == POLYAD_OK)
    *out = scratch;
  else
    pd_walk_close(scratch);
  return status;
}

polyad_status pd_walk_open_within(struct pd_scratch *owner, const struct pd_walk *walk,
                                  const void *storage, const uint64_t *ranks, void **out) {
  assert(walk->clear == NULL);
  PD_TRY(pd_scratch_zeros(owner, 1, walk->scratch_bytes, out));
  struct pd_scratch *scratch = *out;
  *scratch = pd_scratch_part(owner);
  scratch->walk = walk;
  return walk->fill(owner->context, storage, ranks, scratch);
}

void pd_walk_close(void *pointer) {
  struct pd_scratch *scratch = pointer;
  if (scratch == NULL) return;
  const struct pd_device *device = scratch->device;
  if (scratch->walk->clear != NULL) scratch->walk->clear(scratch->context, scratch);
  for (int k = scratch->count; k-- > 0;)
    if (device->functions->host_memory)
      pd_free(scratch->context, scratch->array[k]);
    else
      device->functions->release(scratch->context, device, scratch->array[k]);
  pd_free(scratch->context, scratch);
}
