/* The temporary files that outputs write to until they are whole.
 *
 * A library beneath may end the process from inside a call: libgomp does when it cannot allocate or
 * start a thread. What exit() runs then removes the files that nobody will finish; the outputs
 * themselves are as they were. */
#ifndef PD_TEMPORARIES_H
#define PD_TEMPORARIES_H

/** One file, in the list from pd_temporary_add() to pd_temporary_remove(). `path` stays the
 *  caller's. */
struct pd_temporary {
  const char *path;
  long process; /* that made it: after fork() it is not the child's to remove */
  struct pd_temporary *next, **link;
};

void pd_temporary_add(struct pd_temporary *temporary, const char *path);
/** Nothing to do for one that is in no list. */
void pd_temporary_remove(struct pd_temporary *temporary);

#endif
