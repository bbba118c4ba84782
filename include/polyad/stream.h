/** @file
 *  @brief STREAM: what a device's memory sustains (J. D. McCalpin's four loops).
 *
 *  Every loop exists twice: tuned by hand for the device, and portable, from one source for all
 *  devices. Comparing the two shows what writing a kernel once costs. */
#ifndef POLYAD_STREAM_H
#define POLYAD_STREAM_H

#include <polyad/context.h>
#include <polyad/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The loops. */
typedef enum polyad_stream_loop {
  POLYAD_STREAM_COPY = 0,  /**< c = a */
  POLYAD_STREAM_SCALE = 1, /**< b = s c */
  POLYAD_STREAM_ADD = 2,   /**< c = a + b */
  POLYAD_STREAM_TRIAD = 3  /**< a = b + s c */
} polyad_stream_loop;

/** Three arrays on the context's device. */
typedef struct polyad_stream polyad_stream;

/** Allocates and fills three arrays of `count` numbers on the context's device.
 *  @param count  at least 1; rounded up to a multiple of 4096
 *  @param[out] stream  destroyed with polyad_stream_destroy() before the context
 *  @return POLYAD_UNSUPPORTED when the device has no such loops, POLYAD_OVERFLOW,
 *  POLYAD_MEMORY_LIMIT, POLYAD_OUT_OF_MEMORY */
POLYAD_API POLYAD_CHECKED polyad_status polyad_stream_create(polyad_context *context,
                                                             uint64_t count, polyad_type type,
                                                             polyad_stream **stream);
/** Destroys the arrays; NULL is fine. */
POLYAD_API void polyad_stream_destroy(polyad_stream *stream);

/** Whether the device has the loops tuned by hand (portable 0) or portable (1). */
POLYAD_API int polyad_stream_has(const polyad_stream *stream, int portable);

/** Bytes that one run of a loop reads and writes, as STREAM counts them: the stores' reads of
 *  the lines they overwrite are not counted. */
POLYAD_API double polyad_stream_bytes(const polyad_stream *stream, polyad_stream_loop loop);

/** Runs a loop once and waits.
 *  @param portable  0: tuned by hand for the device; 1: from the source for all devices
 *  @param[out] seconds  by the device's own clock where it has one
 *  @return POLYAD_UNSUPPORTED when the device lacks it */
POLYAD_API POLYAD_CHECKED polyad_status polyad_stream_run(polyad_stream *stream,
                                                          polyad_stream_loop loop, int portable,
                                                          double *seconds);
/** Runs a loop once from known contents and compares its result (at most the first 2^24 numbers)
 *  with the same operation on the host.
 *  @param[out] error  the largest relative difference */
POLYAD_API POLYAD_CHECKED polyad_status polyad_stream_check(polyad_stream *stream,
                                                            polyad_stream_loop loop, int portable,
                                                            double *error);

#ifdef __cplusplus
}
#endif
#endif
