/* Which call fails, and how: read from the environment by both halves of the shim.
 *
 * FAULT_CALL  the kind of call: open, read, write, fsync, close, rename; "change": every call that
 *             changes files (create, write, fsync, close, rename, link, unlink, mkdir, rmdir);
 *             "memory": every allocation of the program and of all its libraries after start-up;
 *             "thread": starting a thread
 * FAULT_AT    which of these calls, from 1; 0: all
 * FAULT_AFTER 1: all later ones too
 * FAULT_HOW   an errno's number, "short" (one byte at a time), "eintr" (every other call), "kill"
 *             (SIGKILL instead of the call), "torn" (half of a write, then SIGKILL)
 * FAULT_NAME  only files whose path contains it; descriptors up to 2 are never touched
 * FAULT_COUNT a file into which the number of these calls is written at the end
 * FAULT_LOG   a file into which every change is recorded, for a replay */
#ifndef PD_FAULT_SHIM_H
#define PD_FAULT_SHIM_H

/** Whether this call of `kind` fails; sets errno. Does not return where the call is to kill. */
int fault_strikes(const char *kind);

#endif
