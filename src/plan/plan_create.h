/* Steps of making a plan. */
#ifndef PD_PLAN_CREATE_H
#define PD_PLAN_CREATE_H

#include "plan/plan.h"
#include <pthread.h>

struct pd_format_text;

/** What is asked of a plan. The request points into `text`, which has to live as long. */
polyad_status pd_plan_make_request(polyad_context *context, const polyad_plan_options *options,
                                   struct pd_format_text *text, struct pd_request *request);

/** Whether formats are measured: chains and rows of Pi never are. */
bool pd_plan_tunes(const polyad_plan_options *options);

/** The power of two that brings a norm far out of the ordinary back to about one; else 0. */
int pd_plan_scaling(const polyad_plan *plan);

/** A plan on request->device alone. `tensor` has the request's precision; with `take` its arrays
 * may go into the plan. Of one without arrays request->sent has the nonzeros, which are freed; the
 * members of a team meet when they take its facts, and then in nothing more. */
polyad_status pd_plan_create_one(polyad_context *context, polyad_tensor *tensor, bool take,
                                 struct pd_request *request, const polyad_plan_options *options,
                                 polyad_plan **plan);

/** Bytes of a device with memory of its own that CP-ALS keeps beside the plan, a workspace and the
 *  factors: spare factors, and its small matrices. */
uint64_t pd_plan_spare_bytes(const polyad_context *context, const struct pd_device *device,
                             polyad_type type, uint64_t rank, int order, const uint64_t *dims);

/** What a plan knows of the tensor; its value_exponent says how values have to be scaled. Of a
 *  team's plan (request->part) they are facts of the whole tensor. */
polyad_status pd_plan_take_facts(polyad_plan *plan, const polyad_tensor *tensor,
                                 const struct pd_request *request);

/** Parts of that: what a tensor's header says, and what needs no pass from front to back. */
void pd_plan_take_shape(polyad_plan *plan, const polyad_tensor *tensor);
polyad_status pd_plan_take_norm(polyad_plan *plan, const polyad_tensor *tensor,
                                const struct pd_request *request);

/** The other passes, beside what the calling thread does while a device builds. The tensor is to
 * stay as it is until they have ended. */
struct pd_facts_beside {
  polyad_plan *plan;
  const polyad_tensor *tensor;
  pthread_t thread;
  bool runs;
};
void pd_facts_begin(polyad_plan *plan, const polyad_tensor *tensor, struct pd_facts_beside *facts);
void pd_facts_end(struct pd_facts_beside *facts);

/** The facts of nonzeros that lie on the request's device alone, whose values it scales. */
polyad_status pd_plan_take_facts_there(polyad_plan *plan, const struct pd_request *request);

/** Multiplies the values by 2^exponent. */
void pd_plan_scale_values(polyad_tensor *tensor, int exponent);

/** A compute type rounds the values: fits must compare with what is stored, or the rounding would
 *  count as residual or hide some. */
polyad_status pd_plan_take_stored_norm(polyad_context *context, polyad_plan *plan);

#endif
