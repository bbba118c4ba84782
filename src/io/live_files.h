/* The temporary files that outputs write to until they are whole.
 *
 * A library beneath may end the process from inside a call: libgomp does when it cannot allocate or
 * start a thread. What exit() runs then removes the files that nobody will finish; the outputs
 * themselves are as they were. */
#ifndef PD_LIVE_FILES_H
#define PD_LIVE_FILES_H

/** One file, in the list from pd_live_file_add() to pd_live_file_remove(). `path` stays the
 *  caller's. */
struct pd_live_file {
  const char *path;
  long process; /* that made it: after fork() it is not the child's to remove */
  struct pd_live_file *next, **link;
};

void pd_live_file_add(struct pd_live_file *file, const char *path);
/** Nothing to do for one that is in no list. */
void pd_live_file_remove(struct pd_live_file *file);

#endif
