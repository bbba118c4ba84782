#include "processes.h"
#include "text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_team_join(struct cli_session *session) {
  if (polyad_team_launched() < 2) return 0;
  if (polyad_team_create_mpi(session->context, POLYAD_TEAM_WORLD, &session->team) != POLYAD_OK)
    return cli_library_failure(session->context);
  if (cli_team_first(session)) return 0;
  session->quiet = true;
  session->verbose = false;
  session->json = session->log = NULL;
  /* What goes wrong here the first process says. */
  bool silent =
      freopen("/dev/null", "w", stdout) != NULL && freopen("/dev/null", "w", stderr) != NULL;
  return silent ? 0 : 1;
}

/* Of a launcher's processes, by what the launcher tells each. */
static bool starts_first(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
  for (int k = 0; k < 3; ++k) {
    const char *rank = getenv(names[k]);
    if (rank != NULL) return strcmp(rank, "0") == 0;
  }
  return true;
}

void cli_team_missing(const struct cli_session *session) {
  int count = polyad_team_launched();
  if (count < 2 || !starts_first()) return;
  cli_talk(
      session,
      "polyad: warning: each of the %d processes runs this whole command by itself and writes all "
      "of its files; only cpd shares the work\n",
      count);
}

bool cli_team_first(const struct cli_session *session) {
  return polyad_team_rank(session->team) == 0;
}

int cli_team_agree(struct cli_session *session, int status) {
  if (session->team == NULL) return status;
  polyad_status all = polyad_team_agree(session->context, session->team,
                                        status == 0 ? POLYAD_OK : POLYAD_CANCELLED);
  if (status != 0 || all == POLYAD_OK) return status;
  return cli_library_failure(session->context);
}

void cli_team_leave(struct cli_session *session) {
  polyad_team_destroy(session->team);
  session->team = NULL;
}

int cli_team_gather(struct cli_session *session, const polyad_plan *plan,
                    polyad_team_info **members) {
  polyad_team_info mine;
  polyad_plan_team_info(plan, &mine);
  *members = NULL;
  if (mine.size < 2) return 0;
  *members = calloc((size_t)mine.size, sizeof **members);
  if (*members == NULL) return cli_failure("out of memory");
  return polyad_plan_team_gather(session->context, plan, *members) == POLYAD_OK
             ? 0
             : cli_library_failure(session->context);
}

static void add_member(cJSON *array, const polyad_team_info *member) {
  cJSON *o = cJSON_CreateObject();
  cli_json_count(o, "rank", (uint64_t)member->rank);
  cli_json_text(o, "device", member->device);
  cli_json_count(o, "nnz", member->nnz);
  cli_json_count(o, "rows_read", member->rows_read);
  cli_json_count(o, "rows_owned", member->rows_owned);
  cli_json_count(o, "bytes_format", member->bytes_format);
  cli_json_count(o, "peak_bytes", member->peak_bytes);
  cli_json_count(o, "device_peak_bytes", member->device_peak_bytes);
  cli_json_count(o, "bytes_sent", member->bytes_sent);
  cli_json_real(o, "seconds_waiting", member->seconds);
  cJSON_AddItemToArray(array, o);
}

void cli_json_team(cJSON *object, const polyad_plan *plan, const polyad_team_info *members) {
  int size = members != NULL ? members[0].size : 1;
  bool one_process = strchr(polyad_plan_device(plan), ',') != NULL;
  cli_json_count(object, "processes", one_process ? 1 : (uint64_t)size);
  if (size == 1) {
    cJSON_AddNullToObject(object, "team");
    return;
  }
  cJSON *o = cJSON_AddObjectToObject(object, "team");
  uint64_t grid[POLYAD_MAX_ORDER], nnz = polyad_plan_nnz(plan);
  for (int n = 0; n < polyad_plan_order(plan); ++n)
    grid[n] = (uint64_t)members[0].grid[n];
  cli_json_counts(o, "grid", grid, polyad_plan_order(plan));
  cli_json_real(o, "imbalance", (double)members[0].most_nnz * size / (double)nnz);
  cJSON *array = cJSON_AddArrayToObject(o, "members");
  for (int k = 0; k < size; ++k)
    add_member(array, &members[k]);
}
