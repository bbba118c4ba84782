/* cmocka and the headers that it needs before it. */
#ifndef PD_TEST_HARNESS_H
#define PD_TEST_HARNESS_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
