/* Several devices of one process that share a plan: see members.h. While something runs every
 * member but the caller's has a thread of its own. The nonzeros are handed to the members in
 * equal parts, as processes hand in their shares; making the plan brings each to the member whose
 * cell of the grid it lies in. Where the devices are of several kinds the sizes of their cells
 * follow from their measured speeds (shares.c), and what they send each other goes by way of the
 * host. */
#include "plan/members.h"
#include "core/helper_context.h"
#include "formats/format_text.h"
#include "formats/storage.h"
#include "plan/part.h"
#include "plan/plan_create.h"
#include "plan/shares.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct pd_members {
  int size;
  pthread_mutex_t lock; /* held while the members run: one call at a time */
  /* While they run member 0 uses the caller's context; its own one here owns its team's memory. */
  polyad_context *context[PD_DEVICES_MOST];
  polyad_team *team[PD_DEVICES_MOST];
  polyad_plan *plan[PD_DEVICES_MOST]; /* that of member 0 owns this */
};

/* ---- threads ------------------------------------------------------------------------------- */

/* No member begins before all threads have been started: the others would wait for it for ever. */
struct gate {
  pthread_mutex_t lock;
  pthread_cond_t opened;
  enum gate_state { CLOSED, OPEN, CANCELLED } state;
};

struct job {
  struct gate *gate;
  polyad_context *context;
  const polyad_plan *plan;
  int member;
  pd_member_function function;
  void *call;
  pthread_t thread;
};

static void open_gate(struct gate *gate, enum gate_state state) {
  pthread_mutex_lock(&gate->lock);
  gate->state = state;
  pthread_cond_broadcast(&gate->opened);
  pthread_mutex_unlock(&gate->lock);
}

static bool pass_gate(struct gate *gate) {
  pthread_mutex_lock(&gate->lock);
  while (gate->state == CLOSED)
    pthread_cond_wait(&gate->opened, &gate->lock);
  bool open = gate->state == OPEN;
  pthread_mutex_unlock(&gate->lock);
  return open;
}

/* Member 0 gets the others' failures through the team. */
static void *run_member(void *user) {
  struct job *job = user;
  if (pass_gate(job->gate)) (void)job->function(job->context, job->plan, job->member, job->call);
  return NULL;
}

static void let_meet(struct pd_members *members, bool idle) {
  for (int k = 0; k < members->size; ++k)
    members->team[k]->idle = idle;
}

/* All members at once, the caller as member 0. */
static polyad_status run_members(polyad_context *context, struct pd_members *members,
                                 pd_member_function function, void *call) {
  struct gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .opened = PTHREAD_COND_INITIALIZER};
  struct job job[PD_DEVICES_MOST];
  polyad_status status = POLYAD_OK;
  int started = 1;
  let_meet(members, false);
  for (; started < members->size && status == POLYAD_OK; ++started) {
    struct job *one = &job[started];
    pd_context_follow(context, members->context[started]);
    *one = (struct job){.gate = &gate,
                        .context = members->context[started],
                        .plan = members->plan[started],
                        .member = started,
                        .function = function,
                        .call = call};
    if (pthread_create(&one->thread, NULL, run_member, one) != 0)
      status = pd_fail(context, POLYAD_OUT_OF_MEMORY,
                       "no thread can be started for device %d of %d", started, members->size);
  }
  if (status != POLYAD_OK) --started;
  open_gate(&gate, status == POLYAD_OK ? OPEN : CANCELLED);
  if (status == POLYAD_OK) status = function(context, members->plan[0], 0, call);
  for (int k = 1; k < started; ++k)
    pthread_join(job[k].thread, NULL);
  let_meet(members, true);
  return status;
}

polyad_status pd_members_run(polyad_context *context, const polyad_plan *plan,
                             pd_member_function function, void *call) {
  struct pd_members *members = plan == NULL ? NULL : plan->members;
  if (members == NULL) return function(context, plan, 0, call);
  pthread_mutex_lock(&members->lock);
  polyad_status status = run_members(context, members, function, call);
  pthread_mutex_unlock(&members->lock);
  return status;
}

int pd_members_count(const polyad_plan *plan) {
  return plan->members == NULL ? 1 : plan->members->size;
}

const polyad_plan *pd_members_plan(const polyad_plan *plan, int member) {
  return plan->members == NULL ? plan : plan->members->plan[member];
}

/* ---- making -------------------------------------------------------------------------------- */

struct making {
  struct pd_members *members;
  const polyad_tensor *tensor;
  const struct pd_device_list *devices;
  const double *weights; /* of the members; NULL: equal */
  const polyad_plan_options *options;
};

/* A part of the nonzeros, in the tensor's own arrays. */
static polyad_tensor view_of_share(const polyad_tensor *tensor, int part, int parts) {
  polyad_tensor view = *tensor;
  uint64_t begin = pd_part_begin(tensor->nnz, part, parts);
  view.nnz = pd_part_begin(tensor->nnz, part + 1, parts) - begin;
  for (int n = 0; n < tensor->order; ++n)
    view.index[n] = (char *)tensor->index[n] + begin * (uint64_t)pd_index_bytes(tensor->dims[n]);
  view.values = (char *)tensor->values + begin * pd_type_bytes(tensor->type);
  return view;
}

/* Adds to the error of a part that does not fit which device it is for, and how large it is. */
static polyad_status refuse_share(polyad_context *context, const struct making *making,
                                  int member) {
  char text[256];
  snprintf(text, sizeof text, "%s", polyad_last_error(context));
  pd_begin(context);
  return pd_fail(context, POLYAD_MEMORY_LIMIT, "%.1f%% of the nonzeros, for device %s: %s",
                 100 * making->weights[member], making->devices->device[member]->name, text);
}

static polyad_status make_members_part(polyad_context *context, const struct making *making,
                                       int member) {
  polyad_plan_options options = *making->options;
  polyad_tensor share = view_of_share(making->tensor, member, making->members->size);
  struct pd_format_text text;
  struct pd_request request;
  options.team = making->members->team[member];
  options.second_share = 0; /* the weights have it */
  PD_TRY(pd_plan_make_request(context, &options, &text, &request));
  request.device = making->devices->device[member];
  request.weights = making->weights;
  polyad_status status =
      pd_part_plan_create(context, &share, &request, &options, &making->members->plan[member]);
  return status == POLYAD_MEMORY_LIMIT && making->weights != NULL
             ? refuse_share(context, making, member)
             : status;
}

static polyad_status make_member(polyad_context *context, const polyad_plan *plan, int member,
                                 void *call) {
  const struct making *making = call;
  (void)plan;
  polyad_status status = make_members_part(context, making, member);
  return pd_team_agree(context, making->members->team[member], status);
}

/* How many of the host's threads a member gets. The members on the CPU divide all threads among
 * themselves. The thread of a GPU's member mostly waits for its device: it counts for nothing
 * there, and gets an equal part of the threads for its own passes over the host's arrays. */
static int members_threads(const polyad_context *context, const struct pd_device_list *devices,
                           int member) {
  int hosts = 0, threads = polyad_threads(context);
  for (int k = 0; k < devices->count; ++k)
    hosts += devices->device[k]->functions->host_memory;
  bool here = devices->device[member]->functions->host_memory;
  threads /= here ? hosts : devices->count;
  return threads < 1 ? 1 : threads;
}

static polyad_status open_members(polyad_context *context, const struct pd_device_list *devices,
                                  struct pd_members *members) {
  polyad_status status = POLYAD_OK;
  for (int k = 0; k < devices->count && status == POLYAD_OK; ++k)
    status = pd_context_for_helper(context, devices->device[k]->name,
                                   members_threads(context, devices, k), &members->context[k]);
  if (status == POLYAD_OK)
    status = pd_team_create_threads(members->context, devices->count, members->team);
  if (status != POLYAD_OK) /* what failed may have told another member's context */
    return pd_fail(context, status, "there is no memory for a team of %d devices", devices->count);
  members->size = devices->count;
  for (int k = 0; k < members->size; ++k)
    members->team[k]->called = "device";
  return POLYAD_OK;
}

static polyad_status make_members(polyad_context *context, const struct pd_device_list *devices,
                                  struct pd_members **members) {
  struct pd_members *made = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &made));
  pthread_mutex_init(&made->lock, NULL);
  polyad_status status = open_members(context, devices, made);
  if (status == POLYAD_OK)
    *members = made;
  else
    pd_members_destroy(made);
  return status;
}

static polyad_status check_request(polyad_context *context, const polyad_plan_options *options) {
  if (options->kernel == POLYAD_KERNEL_MTTKRP || options->kernel == POLYAD_KERNEL_PHI)
    return POLYAD_OK;
  return pd_fail(context, POLYAD_UNSUPPORTED,
                 "several devices share MTTKRP and Phi only; expected one device");
}

static void name_devices(const struct pd_device_list *devices, polyad_plan *plan) {
  size_t length = 0;
  plan->devices[0] = '\0';
  for (int k = 0; k < devices->count && length < sizeof plan->devices; ++k)
    length += (size_t)snprintf(plan->devices + length, sizeof plan->devices - length, "%s%s",
                               k > 0 ? "," : "", devices->device[k]->name);
}

/* The hash of the whole tensor, which takes a pass from front to back, while the members make their
 * parts. */
struct hashing {
  const polyad_tensor *tensor;
  uint64_t hash;
  pthread_t thread;
  bool runs;
};

static void *members_hash(void *user) {
  struct hashing *hashing = user;
  hashing->hash = polyad_tensor_hash(hashing->tensor);
  return NULL;
}

static void members_hash_begin(struct hashing *hashing) {
  hashing->runs = pthread_create(&hashing->thread, NULL, members_hash, hashing) == 0;
}

static uint64_t members_hash_end(struct hashing *hashing) {
  if (hashing->runs)
    (void)pthread_join(hashing->thread, NULL);
  else
    (void)members_hash(hashing);
  return hashing->hash;
}

/* The explanation of a plan of several devices: a line on the shares of all members, then what each
 * says of its own choice of a format. Each gets an equal part of the text's room, so that no long
 * one crowds out the others. */
static void explain_members(const struct pd_members *members, polyad_plan *plan) {
  char text[PD_EXPLANATION_BYTES] = "";
  const size_t room = sizeof text;
  const int each = (int)room / members->size - 160;
  size_t length = 0;
  for (int k = 0; k < members->size && length < room; ++k)
    length +=
        (size_t)snprintf(text + length, room - length, "%s%.1f%% on %s (%.40s)", k > 0 ? ", " : "",
                         100 * (double)members->plan[k]->nnz / (double)polyad_plan_nnz(plan),
                         members->plan[k]->device->name, members->plan[k]->variant);
  for (int k = 0; k < members->size && length < room; ++k)
    length += (size_t)snprintf(
        text + length, room - length, "\n%.40s, %llu nonzeros in %llu bytes: %.*s",
        members->plan[k]->device->name, (unsigned long long)members->plan[k]->nnz,
        (unsigned long long)pd_storage_bytes(members->plan[k]->format, members->plan[k]->storage),
        each < 0 ? 0 : each, members->plan[k]->explanation);
  memcpy(plan->explanation, text, room);
}

static polyad_status create_team(polyad_context *context, const polyad_tensor *tensor,
                                 const struct pd_shares *shares, const polyad_plan_options *options,
                                 polyad_plan **plan) {
  struct pd_members *members = NULL;
  PD_TRY(make_members(context, &shares->devices, &members));
  struct making making = {members, tensor, &shares->devices, shares->equal ? NULL : shares->weight,
                          options};
  struct hashing hashing = {.tensor = tensor};
  members_hash_begin(&hashing);
  polyad_status status = run_members(context, members, make_member, &making);
  uint64_t hash = members_hash_end(&hashing);
  if (status != POLYAD_OK) {
    if (members->plan[0] != NULL) polyad_plan_destroy(members->plan[0]);
    pd_members_destroy(members);
    return status;
  }
  *plan = members->plan[0];
  (*plan)->members = members;
  (*plan)->tensor_hash = hash;
  name_devices(&shares->devices, *plan);
  explain_members(members, *plan);
  return POLYAD_OK;
}

polyad_status pd_members_plan_create(polyad_context *context, const polyad_tensor *tensor,
                                     const struct pd_device_list *devices,
                                     const struct pd_request *request,
                                     const polyad_plan_options *options, polyad_plan **plan) {
  struct pd_shares shares;
  struct pd_request alone = *request;
  PD_TRY(check_request(context, options));
  PD_TRY(pd_shares_choose(context, tensor, devices, options, &shares));
  if (shares.devices.count > 1) return create_team(context, tensor, &shares, options, plan);
  alone.device = shares.devices.device[0];
  return pd_plan_create_one(context, (polyad_tensor *)tensor, false, &alone, options, plan);
}

void pd_members_destroy(struct pd_members *members) {
  if (members == NULL) return;
  for (int k = 1; k < PD_DEVICES_MOST; ++k)
    polyad_plan_destroy(members->plan[k]);
  for (int k = 0; k < PD_DEVICES_MOST; ++k)
    polyad_team_destroy(members->team[k]);
  for (int k = 0; k < PD_DEVICES_MOST; ++k)
    polyad_context_destroy(members->context[k]);
  pthread_mutex_destroy(&members->lock);
  pd_free(NULL, members);
}
