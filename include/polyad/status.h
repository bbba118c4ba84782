/** @file
 *  @brief Status codes: what every call that can fail returns. */
#ifndef POLYAD_STATUS_H
#define POLYAD_STATUS_H

#include <polyad/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/** All status codes as X(name, number, sentence); the enum, the texts and the Python
 *  exceptions are made from this list. Numbers never change once released. */
#define POLYAD_STATUS_MAP(X)                                                                       \
  X(OK, 0, "success")                                                                              \
  X(INVALID_ARGUMENT, 1, "an argument is outside its documented range")                            \
  X(OUT_OF_MEMORY, 2, "the system has no memory left")                                             \
  X(MEMORY_LIMIT, 3, "more memory is needed than the memory limit allows")                         \
  X(OVERFLOW, 4, "a size is too large for this machine's integers")                                \
  X(IO, 5, "reading or writing failed")                                                            \
  X(PARSE, 6, "the input is malformed")                                                            \
  X(UNSUPPORTED, 7, "this combination is not supported")                                           \
  X(CANCELLED, 8, "the computation was cancelled")                                                 \
  X(DEVICE, 9, "the device reported an error")                                                     \
  X(DEVICE_LOST, 10, "the device is lost and cannot be used any more")                             \
  X(NUMERICAL, 11, "the numbers do not allow the computation")                                     \
  X(MISMATCH, 12, "two inputs do not belong together")                                             \
  X(INTERNAL, 13, "an internal invariant does not hold; please report this")

/** Result of a call. Zero is success. */
typedef enum polyad_status {
/** @cond */
#define POLYAD_STATUS_ENUM(name, number, sentence) POLYAD_##name = number,
  /** @endcond */
  POLYAD_STATUS_MAP(POLYAD_STATUS_ENUM)
#undef POLYAD_STATUS_ENUM
} polyad_status;

/** One sentence in English about `status`; never NULL, never freed, needs no context. */
POLYAD_API const char *polyad_status_string(polyad_status status);

/** The code's name, such as "OUT_OF_MEMORY"; "UNKNOWN" for a number that is no code. */
POLYAD_API const char *polyad_status_name(polyad_status status);

#ifdef __cplusplus
}
#endif
#endif
