/* A plan that a team shares: making it, what it knows of the whole tensor, and what algorithms ask
 * it. A plan that no team shares answers as the only member of one would. */
#include "device/build.h"
#include "formats/sent.h"
#include "formats/storage.h"
#include "linalg/linalg.h"
#include "plan/members.h"
#include "plan/part.h"
#include "plan/plan_create.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static polyad_status part_plan_check_device(polyad_context *context,
                                            const struct pd_request *request) {
  const struct pd_device *device = request->device;
  if (request->compute != POLYAD_COMPUTE_NATIVE)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "a team computes in the plan's precision; expected the native compute type");
  if (device->linalg->join != NULL) return POLYAD_OK;
  return pd_fail(context, POLYAD_UNSUPPORTED,
                 "device %s takes no part in a team; expected cpu, cuda or opencl", device->name);
}

/* Whether the nonzeros are to be dealt and sorted on the members' devices. What was measured is
 * kept by the hash of a tensor, which takes its arrays. */
static bool shares_there(const struct pd_request *request, const polyad_plan_options *options) {
  const struct pd_device_build *steps = request->device->functions->build;
  return !pd_team_is_mixed(options->team) && steps != NULL && steps->deal != NULL &&
         pd_sent_builds(request) && !(pd_plan_tunes(options) && options->tune_cache != NULL);
}

static bool lacks(polyad_status status) {
  return status == POLYAD_OUT_OF_MEMORY || status == POLYAD_MEMORY_LIMIT ||
         status == POLYAD_UNSUPPORTED;
}

/* This member's plan of its part, which it has in request->part. */
static polyad_status create_of_part(polyad_context *context, polyad_tensor *local,
                                    struct pd_request *request, const polyad_plan_options *options,
                                    polyad_plan **plan) {
  polyad_status status = pd_part_place(context, request->part, request->device);
  if (status == POLYAD_OK)
    status = pd_plan_create_one(context, local, true, request, options, plan);
  if (status == POLYAD_OK)
    (*plan)->part = request->part;
  else
    pd_part_destroy(context, request->part);
  request->part = NULL;
  polyad_tensor_destroy(local);
  return status;
}

/* Members build of what lies on their devices, or, where one of them cannot, none does, and *plan
 * is NULL: the hosts then have memory for what takes less of a device's. */
static polyad_status create_there(polyad_context *context, const polyad_tensor *share,
                                  const struct pd_request *asked,
                                  const polyad_plan_options *options, polyad_plan **plan) {
  polyad_tensor *local = NULL;
  struct pd_build *sent = NULL;
  struct pd_request request = *asked; /* to which the choice of a format adds */
  PD_TRY(pd_part_create(context, options->team, &request, share, &local, &sent, &request.part));
  if (request.part == NULL) return POLYAD_OK;
  request.sent = &sent;
  polyad_status status = create_of_part(context, local, &request, options, plan);
  pd_sent_end(context, &request);
  bool cannot = request.facts_shared && lacks(status);
  if (status != POLYAD_OK && !cannot) return status;
  if (cannot)
    pd_log(context, POLYAD_LOG_INFO, "the hosts share the tensor out: %s",
           polyad_last_error(context));
  if (cannot) pd_begin(context);
  PD_TRY(pd_team_any(context, options->team, &cannot));
  if (!cannot) return POLYAD_OK;
  polyad_plan_destroy(*plan);
  *plan = NULL;
  return POLYAD_OK;
}

static polyad_status create_here(polyad_context *context, const polyad_tensor *share,
                                 struct pd_request *request, const polyad_plan_options *options,
                                 polyad_plan **plan) {
  polyad_tensor *local = NULL;
  PD_TRY(pd_part_create(context, options->team, request, share, &local, NULL, &request->part));
  return create_of_part(context, local, request, options, plan);
}

/* Makes the longest rows those of the whole tensor, of which each member has parts. */
static polyad_status share_longest(polyad_context *context, polyad_plan *plan) {
  for (int n = 0; n < plan->order; ++n)
    PD_TRY(pd_team_max_count(context, plan->part->team, &plan->longest_row[n]));
  return POLYAD_OK;
}

polyad_status pd_part_plan_create(polyad_context *context, polyad_tensor *share,
                                  struct pd_request *request, const polyad_plan_options *options,
                                  polyad_plan **plan) {
  double began = pd_seconds();
  PD_TRY(part_plan_check_device(context, request));
  PD_TRY(pd_team_use_device(context, options->team, request->device));
  double joined = pd_seconds();
  *plan = NULL;
  if (shares_there(request, options)) PD_TRY(create_there(context, share, request, options, plan));
  bool there = *plan != NULL;
  if (!there) PD_TRY(create_here(context, share, request, options, plan));
  PD_TRY(share_longest(context, *plan));
  pd_log(context, POLYAD_LOG_INFO,
         "%s %d of %d has its part after %.3f s, %.3f s of them until devices could send; %s",
         options->team->called, options->team->rank, options->team->size, pd_seconds() - began,
         joined - began, there ? "devices shared it out" : "hosts shared it out");
  return POLYAD_OK;
}

/* ---- facts of the whole tensor -------------------------------------------------------------- */

/* Sums of squares have exponents of their own. */
polyad_status pd_part_share_norm(polyad_context *context, const struct pd_part *part,
                                 polyad_plan *plan) {
  bool any = plan->norm_square_scaled > 0;
  double exponent = any ? plan->norm_exponent : -(double)INT_MAX / 4;
  PD_TRY(pd_team_max(context, part->team, 1, &exponent));
  double square =
      any ? ldexp(plan->norm_square_scaled, 2 * (plan->norm_exponent - (int)exponent)) : 0;
  PD_TRY(pd_team_sum(context, part->team, 1, &square));
  plan->norm_square_scaled = square;
  plan->norm_exponent = square > 0 ? (int)exponent : 0;
  return POLYAD_OK;
}

/* The first negative value is that of the lowest rank, with its indices in the whole tensor. */
static polyad_status share_negative(polyad_context *context, const struct pd_part *part,
                                    polyad_plan *plan) {
  double rank = plan->negative.found ? -part->team->rank : -INT_MAX;
  for (int n = 0; n < part->order && plan->negative.found; ++n)
    plan->negative.index[n] = part->mode[n].index[plan->negative.index[n]];
  PD_TRY(pd_team_max(context, part->team, 1, &rank));
  if (rank == -INT_MAX) return POLYAD_OK;
  return pd_team_broadcast(context, part->team, (int)-rank, &plan->negative, sizeof plan->negative);
}

polyad_status pd_part_share_facts(polyad_context *context, const struct pd_part *part,
                                  polyad_plan *plan) {
  bool keeps = plan->zeros == POLYAD_ZEROS_KEEP;
  PD_TRY(pd_team_any(context, part->team, &keeps));
  plan->zeros = keeps ? POLYAD_ZEROS_KEEP : POLYAD_ZEROS_DROP;
  plan->tensor_hash = 0; /* no member knows it */
  PD_TRY(pd_team_sum(context, part->team, 1, &plan->sum));
  return share_negative(context, part, plan);
}

/* ---- what algorithms ask --------------------------------------------------------------------- */

polyad_team *pd_plan_team(const polyad_plan *plan) {
  return plan->part != NULL ? plan->part->team : NULL;
}

uint64_t pd_plan_length(const polyad_plan *plan, int mode) {
  return plan->part != NULL ? plan->part->dims[mode] : plan->dims[mode];
}

uint64_t pd_plan_own_rows(const polyad_plan *plan, int mode) {
  return plan->part != NULL ? plan->part->mode[mode].owned : plan->dims[mode];
}

struct pd_matrix pd_plan_own(const polyad_plan *plan, int mode, const struct pd_matrix *matrix) {
  struct pd_matrix own = *matrix;
  own.rows = pd_plan_own_rows(plan, mode);
  own.borrowed = true;
  return own;
}

uint64_t pd_plan_index(const polyad_plan *plan, int mode, uint64_t i) {
  if (plan->part == NULL) return i;
  const struct pd_part_mode *of = &plan->part->mode[mode];
  return i < of->held[plan->part->team->size] ? of->index[i] : 0; /* a row that nobody reads */
}

polyad_status pd_plan_collect(polyad_context *context, const polyad_plan *plan,
                              polyad_workspace *workspace, int mode, struct pd_matrix *rows) {
  if (plan->part == NULL) return POLYAD_OK;
  return pd_part_collect(context, plan->part, mode, workspace->room, rows);
}

polyad_status pd_plan_spread(polyad_context *context, const polyad_plan *plan,
                             polyad_workspace *workspace, int mode, struct pd_matrix *rows) {
  if (plan->part == NULL) return POLYAD_OK;
  return pd_part_spread(context, plan->part, mode, workspace->room, rows);
}

void polyad_plan_team_info(const polyad_plan *plan, polyad_team_info *info) {
  const struct pd_part *part = plan->part;
  *info = (polyad_team_info){.size = 1, .nnz = plan->nnz, .most_nnz = plan->nnz};
  for (int n = 0; n < plan->order; ++n) {
    info->grid[n] = part != NULL ? part->grid[n] : 1;
    info->rows_owned += pd_plan_own_rows(plan, n);
    info->rows_read += part != NULL ? part->mode[n].held[part->team->size] : plan->dims[n];
  }
  info->bytes_format = pd_storage_bytes(plan->format, plan->storage);
  info->peak_bytes = polyad_memory_peak(plan->context);
  (void)snprintf(info->device, sizeof info->device, "%s", plan->device->name);
  if (plan->device->functions->memory_used != NULL) {
    uint64_t in_use;
    plan->device->functions->memory_used(plan->device, &in_use, &info->device_peak_bytes);
  }
  if (part == NULL) return;
  info->rank = part->team->rank;
  info->size = part->team->size;
  info->most_nnz = part->most_nnz;
  info->bytes_sent = part->team->bytes_sent;
  info->seconds = part->team->seconds;
}

polyad_status polyad_plan_team_gather(polyad_context *context, const polyad_plan *plan,
                                      polyad_team_info *members) {
  polyad_team_info mine;
  PD_ENTER(context);
  if (plan == NULL || members == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "plan or members is NULL");
  if (plan->members != NULL) {
    for (int k = 0; k < pd_members_count(plan); ++k)
      polyad_plan_team_info(pd_members_plan(plan, k), &members[k]);
    return POLYAD_OK;
  }
  memset(&mine, 0, sizeof mine); /* bytes between the members travel too */
  polyad_plan_team_info(plan, &mine);
  return pd_team_gather(context, pd_plan_team(plan), &mine, sizeof mine, members);
}
