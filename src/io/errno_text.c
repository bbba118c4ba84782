/* Apart from the system's other calls, which ask for the C library's extensions: with them
 * strerror_r() is another function. */
#include "io/system_calls.h"
#include <stdio.h>
#include <string.h>

const char *pd_errno_text(char text[PD_ERRNO_BYTES], int error) {
  if (strerror_r(error, text, PD_ERRNO_BYTES) != 0)
    (void)snprintf(text, PD_ERRNO_BYTES, "error %d", error);
  return text;
}
