/* The module for the MPI that it is compiled with. A gather is MPI_Allgather; an exchange is a
 * message from each member to each for which there is one, in pieces whose length an int holds.
 * MPI's errors come back as errors of polyad, with MPI's text. */
#include "device/mpi/mpi_module.h"
#include "device/module.h"
#include <mpi.h>
#include <string.h>

static const struct pd_services *core;

struct state {
  MPI_Comm communicator;
  int rank, size;
  bool finalizes;        /* it has initialised MPI */
  MPI_Request *requests; /* room for `room` */
  int room;
};

enum { TAG = 1, MOST_BYTES = 1 << 30 };

static polyad_status check(polyad_context *context, const char *what, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (code == MPI_SUCCESS) return POLYAD_OK;
  (void)MPI_Error_string(code, text, &length);
  return core->fail(context, POLYAD_DEVICE, "%s failed: %.300s", what, text);
}

static polyad_status mpi_gather(polyad_context *context, void *user, const void *mine,
                                uint64_t bytes, void *all) {
  struct state *state = user;
  if (bytes > MOST_BYTES)
    return core->fail(context, POLYAD_OVERFLOW, "%llu bytes are too many to gather",
                      (unsigned long long)bytes);
  return check(
      context, "MPI_Allgather",
      MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, state->communicator));
}

static int pieces(uint64_t bytes) { return (int)((bytes + MOST_BYTES - 1) / MOST_BYTES); }

/* Room for the messages of an exchange of so many bytes: one or more to and from every member. */
static polyad_status mpi_reserve(polyad_context *context, void *user, uint64_t bytes) {
  struct state *state = user;
  int count = 2 * state->size + pieces(bytes);
  if (count <= state->room) return POLYAD_OK;
  core->free(context, state->requests);
  state->requests = NULL;
  state->room = 0;
  polyad_status status =
      core->alloc(context, (uint64_t)count, sizeof *state->requests, (void **)&state->requests);
  if (status == POLYAD_OK) state->room = count;
  return status;
}

static uint64_t parcels_bytes(const struct state *state, const struct pd_parcel *to,
                              const struct pd_parcel *from) {
  uint64_t bytes = 0;
  for (int k = 0; k < state->size; ++k)
    bytes += to[k].bytes + from[k].bytes;
  return bytes;
}

/* Posts the messages of one parcel. */
static polyad_status post(polyad_context *context, struct state *state, bool sends, int other,
                          const struct pd_parcel *parcel, int *posted) {
  for (uint64_t at = 0; at < parcel->bytes; at += MOST_BYTES) {
    uint64_t rest = parcel->bytes - at;
    int count = (int)(rest < MOST_BYTES ? rest : MOST_BYTES);
    char *data = (char *)parcel->data + at;
    MPI_Request *request = &state->requests[(*posted)++];
    int code = sends ? MPI_Isend(data, count, MPI_BYTE, other, TAG, state->communicator, request)
                     : MPI_Irecv(data, count, MPI_BYTE, other, TAG, state->communicator, request);
    polyad_status status = check(context, sends ? "MPI_Isend" : "MPI_Irecv", code);
    if (status != POLYAD_OK) return status;
  }
  return POLYAD_OK;
}

static polyad_status mpi_exchange(polyad_context *context, void *user, const struct pd_parcel *to,
                                  const struct pd_parcel *from) {
  struct state *state = user;
  int posted = 0;
  polyad_status status = mpi_reserve(context, state, parcels_bytes(state, to, from));
  /* Every member begins with its next neighbour, so that not all send to the same one. */
  for (int step = 1; step < state->size && status == POLYAD_OK; ++step) {
    int source = (state->rank - step + state->size) % state->size;
    status = post(context, state, false, source, &from[source], &posted);
  }
  for (int step = 1; step < state->size && status == POLYAD_OK; ++step) {
    int target = (state->rank + step) % state->size;
    status = post(context, state, true, target, &to[target], &posted);
  }
  if (status == POLYAD_OK && to[state->rank].bytes > 0)
    memcpy(from[state->rank].data, to[state->rank].data, (size_t)to[state->rank].bytes);
  int code = MPI_Waitall(posted, state->requests, MPI_STATUSES_IGNORE);
  return status == POLYAD_OK ? check(context, "MPI_Waitall", code) : status;
}

static void mpi_leave(void *user, bool failed) {
  struct state *state = user;
  bool finalizes = state->finalizes;
  (void)failed; /* all members know of a failure, and leave as they do otherwise */
  (void)MPI_Comm_free(&state->communicator);
  core->free(NULL, state->requests);
  core->free(NULL, state);
  if (finalizes) (void)MPI_Finalize();
}

static polyad_status start_mpi(polyad_context *context, bool *starts) {
  int running = 0, level = 0;
  polyad_status status = check(context, "MPI_Initialized", MPI_Initialized(&running));
  *starts = !running;
  if (status != POLYAD_OK) return status;
  if (!running)
    return check(context, "MPI_Init_thread",
                 MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level));
  int ended = 0;
  status = check(context, "MPI_Finalized", MPI_Finalized(&ended));
  if (status == POLYAD_OK && ended)
    return core->fail(context, POLYAD_UNSUPPORTED,
                      "MPI has been finalised in this process; expected a running MPI");
  return status;
}

static polyad_status describe(polyad_context *context, struct state *state,
                              struct pd_mpi_member *member) {
  polyad_status status = check(context, "MPI_Comm_set_errhandler",
                               MPI_Comm_set_errhandler(state->communicator, MPI_ERRORS_RETURN));
  if (status == POLYAD_OK)
    status = check(context, "MPI_Comm_rank", MPI_Comm_rank(state->communicator, &state->rank));
  if (status == POLYAD_OK)
    status = check(context, "MPI_Comm_size", MPI_Comm_size(state->communicator, &state->size));
  *member = (struct pd_mpi_member){state->rank, state->size, state};
  return status == POLYAD_OK ? mpi_reserve(context, state, 0) : status;
}

static polyad_status mpi_join(polyad_context *context, bool world, int handle,
                              struct pd_mpi_member *member) {
  struct state *state = NULL;
  bool starts;
  polyad_status status = core->alloc(context, 1, sizeof *state, (void **)&state);
  if (status != POLYAD_OK) return status;
  memset(state, 0, sizeof *state);
  status = start_mpi(context, &starts);
  if (status == POLYAD_OK) {
    MPI_Comm from = world ? MPI_COMM_WORLD : MPI_Comm_f2c((MPI_Fint)handle);
    state->finalizes = starts;
    status = check(context, "MPI_Comm_dup", MPI_Comm_dup(from, &state->communicator));
  }
  if (status != POLYAD_OK) {
    core->free(context, state);
    return status;
  }
  status = describe(context, state, member);
  if (status != POLYAD_OK) mpi_leave(state, true);
  return status;
}

static const struct pd_mpi_module mpi_module = {.collectives = {.gather = mpi_gather,
                                                                .exchange = mpi_exchange,
                                                                .reserve = mpi_reserve,
                                                                .leave = mpi_leave},
                                                .join = mpi_join};

__attribute__((visibility("default"))) int pd_module_entry(const struct pd_services *services,
                                                           struct pd_module *module);

int pd_module_entry(const struct pd_services *services, struct pd_module *module) {
  if (services->interface != PD_MODULE_INTERFACE) return 1;
  core = services;
  *module = (struct pd_module){.interface = PD_MODULE_INTERFACE, .mpi = &mpi_module};
  return 0;
}
