/* NCCL between the GPUs of a team, where every member has a GPU of its own. The library is loaded
 * when a team first needs it: libnccl.so.2 as the loader finds it, or the file that the environment
 * variable POLYAD_NCCL names; "off" there does without. Of its interface, which is stable within
 * version 2, only what is called here is declared.
 *
 * Only sends, receives and gathers are used, which change no number on their way: NCCL's own sums
 * would depend on the number of GPUs and the way between them. */
#include "device/cuda/cuda_nccl.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  char internal[PD_TICKET_BYTES];
} nccl_id;
enum { NCCL_SUCCESS = 0, NCCL_INT8 = 0 };

static struct {
  int (*get_unique_id)(nccl_id *id);
  int (*comm_init_rank)(nccl_comm *comm, int size, nccl_id id, int rank);
  int (*comm_destroy)(nccl_comm comm);
  int (*comm_abort)(nccl_comm comm);
  int (*group_start)(void);
  int (*group_end)(void);
  int (*send)(const void *data, size_t count, int type, int peer, nccl_comm comm,
              cudaStream_t stream);
  int (*receive)(void *data, size_t count, int type, int peer, nccl_comm comm, cudaStream_t stream);
  int (*all_gather)(const void *mine, void *all, size_t count, int type, nccl_comm comm,
                    cudaStream_t stream);
  const char *(*error_string)(int code);
} nccl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char why_not[200];

static bool nccl_find(void *library, const char *name, void *function) {
  void *found = dlsym(library, name);
  if (found == NULL) snprintf(why_not, sizeof why_not, "%s is not in NCCL's library", name);
  if (found != NULL) *(void **)function = found;
  return found != NULL;
}

/* Multicast over NVLink (NVLS) stays off unless the user wants it: a program that fails in it can
 * put all GPUs of a machine out of service. */
static void nccl_load(void) {
  const char *named = getenv("POLYAD_NCCL");
  if (named != NULL && strcmp(named, "off") == 0) {
    snprintf(why_not, sizeof why_not, "POLYAD_NCCL is off");
    return;
  }
  (void)setenv("NCCL_NVLS_ENABLE", "0", 0);
  void *library =
      dlopen(named != NULL && named[0] != '\0' ? named : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    const char *error = dlerror();
    snprintf(why_not, sizeof why_not, "NCCL is not loaded: %.150s",
             error != NULL ? error : "no reason is told");
    return;
  }
  (void)(nccl_find(library, "ncclGetUniqueId", &nccl.get_unique_id) &&
         nccl_find(library, "ncclCommInitRank", &nccl.comm_init_rank) &&
         nccl_find(library, "ncclCommDestroy", &nccl.comm_destroy) &&
         nccl_find(library, "ncclCommAbort", &nccl.comm_abort) &&
         nccl_find(library, "ncclGroupStart", &nccl.group_start) &&
         nccl_find(library, "ncclGroupEnd", &nccl.group_end) &&
         nccl_find(library, "ncclSend", &nccl.send) &&
         nccl_find(library, "ncclRecv", &nccl.receive) &&
         nccl_find(library, "ncclAllGather", &nccl.all_gather) &&
         nccl_find(library, "ncclGetErrorString", &nccl.error_string));
}

static polyad_status nccl_check(polyad_context *context, int code, const char *call) {
  if (code == NCCL_SUCCESS) return POLYAD_OK;
  return pd_cuda_services->fail(context, POLYAD_DEVICE, "NCCL's %s failed: %s", call,
                                nccl.error_string(code));
}

static polyad_status nccl_make_ticket(polyad_context *context, char ticket[PD_TICKET_BYTES]) {
  nccl_id id;
  PD_TRY(nccl_check(context, nccl.get_unique_id(&id), "ncclGetUniqueId"));
  memcpy(ticket, id.internal, sizeof id.internal);
  return POLYAD_OK;
}

/* ---- a member ------------------------------------------------------------------------------ */

/* Bytes to and from every member in the first operation. */
enum { FIRST_BYTES = 256 };

static polyad_status nccl_ready(polyad_context *context, const struct pd_device *device, int size,
                                void *state) {
  struct pd_nccl_member *member = state;
  pthread_once(&once, nccl_load);
  if (why_not[0] != '\0') return pd_cuda_services->fail(context, POLYAD_UNSUPPORTED, "%s", why_not);
  member->device = pd_cuda_state_of(device);
  member->size = size;
  PD_TRY(pd_cuda_enter(context, member->device));
  PD_TRY(PD_CUDA(context, member->device,
                 cudaMalloc(&member->room, ((size_t)size + 1) * FIRST_BYTES)));
  return pd_nccl_watch_begin(context, member, nccl.comm_abort);
}

static void nccl_leave(void *state, bool failed) {
  struct pd_nccl_member *member = state;
  if (member->device == NULL) return;
  if (cudaSetDevice(member->device->device.index) != cudaSuccess) (void)cudaGetLastError();
  pd_nccl_watch_end(member);
  if (member->comm != NULL && failed)
    (void)nccl.comm_abort(member->comm);
  else if (member->comm != NULL)
    (void)nccl.comm_destroy(member->comm);
  if (member->room != NULL && cudaFree(member->room) != cudaSuccess) (void)cudaGetLastError();
}

static bool nccl_gave_up(const void *state) {
  const struct pd_nccl_member *member = state;
  return atomic_load(&member->gave_up);
}

static polyad_status gather_all(polyad_context *context, const struct pd_nccl_member *member,
                                const void *mine, uint64_t bytes, void *all) {
  int code = nccl.all_gather(mine, all, (size_t)bytes, NCCL_INT8, member->comm,
                             pd_cuda_stream(member->device));
  return nccl_check(context, code, "ncclAllGather");
}

static polyad_status nccl_gather(polyad_context *context, void *state, const void *mine,
                                 uint64_t bytes, void *all) {
  struct pd_nccl_member *member = state;
  polyad_status status = pd_nccl_begin(context, member);
  if (status == POLYAD_OK) status = gather_all(context, member, mine, bytes, all);
  return pd_nccl_end(context, member, status);
}

/* A parcel to member k, and one from it. The one for itself is copied. */
static int nccl_pass(const struct pd_nccl_member *member, int k, struct pd_parcel to,
                     struct pd_parcel from) {
  cudaStream_t stream = pd_cuda_stream(member->device);
  int code = NCCL_SUCCESS;
  if (k == member->rank) return code;
  if (to.bytes > 0) code = nccl.send(to.data, (size_t)to.bytes, NCCL_INT8, k, member->comm, stream);
  if (code == NCCL_SUCCESS && from.bytes > 0)
    code = nccl.receive(from.data, (size_t)from.bytes, NCCL_INT8, k, member->comm, stream);
  return code;
}

/* Ends the group of sends and receives that `code` came of. */
static polyad_status end_group(polyad_context *context, int code) {
  int ended = nccl.group_end();
  PD_TRY(nccl_check(context, code, "ncclSend or ncclRecv"));
  return nccl_check(context, ended, "ncclGroupEnd");
}

static polyad_status pass_all(polyad_context *context, struct pd_nccl_member *member,
                              const struct pd_parcel *to, const struct pd_parcel *from) {
  struct pd_cuda_state *device = member->device;
  const struct pd_parcel *own = &to[member->rank];
  if (own->bytes > 0)
    PD_TRY(PD_CUDA(context, device,
                   cudaMemcpyAsync(from[member->rank].data, own->data, own->bytes,
                                   cudaMemcpyDeviceToDevice, pd_cuda_stream(device))));
  PD_TRY(nccl_check(context, nccl.group_start(), "ncclGroupStart"));
  int code = NCCL_SUCCESS;
  for (int k = 0; k < member->size && code == NCCL_SUCCESS; ++k)
    code = nccl_pass(member, k, to[k], from[k]);
  return end_group(context, code);
}

static polyad_status nccl_exchange(polyad_context *context, void *state, const struct pd_parcel *to,
                                   const struct pd_parcel *from) {
  struct pd_nccl_member *member = state;
  polyad_status status = pd_nccl_begin(context, member);
  if (status == POLYAD_OK) status = pass_all(context, member, to, from);
  return pd_nccl_end(context, member, status);
}

/* NCCL's calls of the first operation: a parcel between every two members, and a gather. */
static polyad_status connect_members(polyad_context *context, const struct pd_nccl_member *member) {
  char *room = member->room;
  int code = NCCL_SUCCESS;
  PD_TRY(nccl_check(context, nccl.group_start(), "ncclGroupStart"));
  for (int k = 0; k < member->size && code == NCCL_SUCCESS; ++k)
    code = nccl_pass(member, k, (struct pd_parcel){room, FIRST_BYTES},
                     (struct pd_parcel){room + ((size_t)k + 1) * FIRST_BYTES, FIRST_BYTES});
  PD_TRY(end_group(context, code));
  return gather_all(context, member, room, FIRST_BYTES, room + FIRST_BYTES);
}

/* NCCL connects two members when the first data go between them, which takes time that no iteration
 * should have: they go now. Each waits for the other on its host, where no watch sees it. So a
 * member whose GPU cannot be entered or marked takes part all the same, and fails afterwards. */
static polyad_status pass_first(polyad_context *context, struct pd_nccl_member *member) {
  polyad_status begun = pd_nccl_begin(context, member);
  polyad_status connected = connect_members(context, member);
  PD_TRY(pd_nccl_end(context, member, begun == POLYAD_OK ? connected : begun));
  return PD_CUDA(context, member->device, cudaStreamSynchronize(pd_cuda_stream(member->device)));
}

/* The device has been entered, so that nothing fails in one member before all are in NCCL. */
static polyad_status nccl_join(polyad_context *context, const char ticket[PD_TICKET_BYTES],
                               int rank, void *state) {
  struct pd_nccl_member *member = state;
  nccl_id id;
  nccl_comm comm = NULL;
  memcpy(id.internal, ticket, sizeof id.internal);
  member->rank = rank;
  if (cudaSetDevice(member->device->device.index) != cudaSuccess) (void)cudaGetLastError();
  PD_TRY(
      nccl_check(context, nccl.comm_init_rank(&comm, member->size, id, rank), "ncclCommInitRank"));
  pthread_mutex_lock(&member->lock);
  member->comm = comm;
  pthread_mutex_unlock(&member->lock);
  return pass_first(context, member);
}

const struct pd_device_link pd_cuda_nccl = {.state_bytes = sizeof(struct pd_nccl_member),
                                            .ready = nccl_ready,
                                            .make_ticket = nccl_make_ticket,
                                            .join = nccl_join,
                                            .collectives = {.gather = nccl_gather,
                                                            .exchange = nccl_exchange,
                                                            .gave_up = nccl_gave_up,
                                                            .leave = nccl_leave}};
