/* Whether the shares that a team's members have read are shares of one file. A node whose disk
 * holds another one under the name would otherwise add to the tensor what is not of it. */
#include "plan/part_making.h"
#include <string.h>

/* How many of the members' files have this mark. */
static int alike(const uint64_t *mark, int size, uint64_t wanted) {
  int count = 0;
  for (int k = 0; k < size; ++k)
    count += mark[k] == wanted;
  return count;
}

/* The first member that has the file which most have; -1 where none has read a share. */
static int usual(const uint64_t *mark, int size) {
  int first = -1, most = 0;
  for (int k = 0; k < size; ++k) {
    int count = mark[k] != 0 ? alike(mark, size, mark[k]) : 0;
    if (count <= most) continue;
    first = k;
    most = count;
  }
  return first;
}

polyad_status pd_part_check_file(polyad_context *context, polyad_team *team,
                                 const polyad_tensor *mine) {
  int size = pd_team_size(team);
  uint64_t *mark = NULL;
  polyad_status status = pd_team_agree(context, team, PD_NEW(context, (uint64_t)size, &mark));
  if (status == POLYAD_OK)
    status = pd_team_gather(context, team, &mine->file_mark, sizeof mine->file_mark, mark);
  int right = status == POLYAD_OK ? usual(mark, size) : -1;
  for (int k = 0; k < size && right >= 0 && status == POLYAD_OK; ++k)
    if (mark[k] != 0 && mark[k] != mark[right])
      status = pd_fail(context, POLYAD_MISMATCH,
                       "process %d has read another file than process %d; expected shares of one "
                       "file, the same on every machine",
                       k, right);
  pd_free(context, mark);
  return status;
}
