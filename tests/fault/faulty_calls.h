/* System calls that fail on demand. The test is linked with --wrap, so that every call that the
 * library makes comes here first. */
#ifndef PD_TEST_FAULTY_CALLS_H
#define PD_TEST_FAULTY_CALLS_H

#include <stdbool.h>

enum faulty_call {
  FAULTY_OPEN,
  FAULTY_READ,  /* read, pread */
  FAULTY_WRITE, /* write, pwrite */
  FAULTY_SYNC,
  FAULTY_CLOSE,
  FAULTY_RENAME,
  FAULTY_CALLS
};

extern const char *const faulty_call_name[FAULTY_CALLS];

/** What happens to system calls from now on. */
struct fault_plan {
  enum faulty_call call;
  long which; /* the which-th call of that kind fails, from 0; -1: none */
  int error;  /* with this errno */
  bool ever;  /* and all later calls of that kind too */
  bool storm; /* short transfers, and every second call is interrupted once */
};

void faulty_calls_start(struct fault_plan plan);

/** What happened since then. */
struct fault_report {
  bool failed;   /* the call was reached and failed */
  bool harmless; /* it concerned nothing that could be lost: an input's close, a directory,
                    an empty file's close */
};

struct fault_report faulty_calls_stop(void);

#endif
