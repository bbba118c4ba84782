/* Teams of threads for tests: every member has a context, a team and a thread of its own, in which
 * no cmocka assertion may be used. What members find is looked at afterwards. */
#ifndef PD_TEST_TEAM_FIXTURE_H
#define PD_TEST_TEAM_FIXTURE_H

#include "als_fixture.h"
#include "device/team.h"
#include "failing_allocator.h"

enum { TEAM_MOST = 8 };

struct team_case;

/** One member, in its thread. */
struct team_member {
  struct team_case *all;
  polyad_context *context;
  polyad_team *team;
  struct failing_allocator allocator;
  int rank;
  polyad_status status;
  char message[1024];
};

struct team_case {
  int size;
  polyad_status (*body)(struct team_member *member);
  void *data;
  long failing; /* the allocation of member `failing_rank` that fails; -1: none */
  int failing_rank;
  long allocations[TEAM_MOST]; /* that each member made */
  struct team_member member[TEAM_MOST];
};

/** Runs the body on all members to its end; nothing is left allocated. */
void team_run(struct team_case *all);
/** Fails the test unless all members have succeeded. */
void team_succeeded(const struct team_case *all);
/** This member's share of a tensor: every size-th nonzero. Destroyed by the caller. */
polyad_status team_share(struct team_member *member, const polyad_tensor *whole,
                         polyad_tensor **share);
/** A plan of the shares. */
polyad_status team_plan(struct team_member *member, const polyad_tensor *whole, const char *format,
                        polyad_kernel kernel, uint64_t rank, polyad_type precision,
                        polyad_plan **plan);

#endif
