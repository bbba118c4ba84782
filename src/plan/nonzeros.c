/* The nonzeros that a plan holds, wherever they are: a storage that lies on a device alone is
 * brought back for as long as somebody reads it. */
#include "formats/storage.h"
#include "plan/plan.h"
#include <string.h>

struct pd_nonzeros pd_plan_shape(const polyad_plan *plan) {
  struct pd_nonzeros shape = {
      .order = plan->order, .nnz = plan->nnz, .type = plan->type, .zeros = plan->zeros};
  memcpy(shape.dims, plan->dims, sizeof shape.dims);
  return shape;
}

/* The storage itself where it is on the host. */
static polyad_status nonzeros_bring(polyad_context *context, const polyad_plan *plan, bool whole,
                                    const void **storage, void **brought) {
  *storage = plan->storage;
  *brought = NULL;
  if (!plan->shed) return POLYAD_OK;
  PD_TRY(pd_storage_bring(context, plan->format, plan->device, plan->on_device, whole, brought));
  *storage = *brought;
  return POLYAD_OK;
}

polyad_status pd_plan_nonzeros_open(polyad_context *context, const polyad_plan *plan,
                                    struct pd_plan_nonzeros *nonzeros) {
  *nonzeros = (struct pd_plan_nonzeros){.all = pd_plan_shape(plan)};
  nonzeros->all.decode = plan->format->decode;
  nonzeros->all.readable = plan->format->readable;
  return nonzeros_bring(context, plan, false, &nonzeros->all.storage, &nonzeros->brought);
}

void pd_plan_nonzeros_close(polyad_context *context, const polyad_plan *plan,
                            struct pd_plan_nonzeros *nonzeros) {
  pd_storage_free(context, plan->format, nonzeros->brought);
  nonzeros->brought = NULL;
}

polyad_status pd_plan_expand(polyad_context *context, const polyad_plan *plan,
                             polyad_tensor **tensor) {
  struct pd_plan_nonzeros nonzeros;
  *tensor = NULL;
  if (plan->part != NULL)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "the plan is shared by a team, of which no member has all nonzeros; expected a "
                   "plan of the whole tensor");
  if (plan->format->readable != NULL)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "the tensor streams from disk; expected one in memory for what needs all "
                   "nonzeros at once");
  PD_TRY(pd_plan_nonzeros_open(context, plan, &nonzeros));
  polyad_status status = pd_nonzeros_to_tensor(context, &nonzeros.all, tensor);
  pd_plan_nonzeros_close(context, plan, &nonzeros);
  return status;
}

polyad_status pd_plan_check(polyad_context *context, const polyad_plan *plan) {
  const void *storage;
  void *brought;
  PD_TRY(nonzeros_bring(context, plan, true, &storage, &brought));
  polyad_status status = plan->format->check(context, storage);
  pd_storage_free(context, plan->format, brought);
  return status;
}
