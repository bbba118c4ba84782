/** @file
 *  @brief The devices that this build and machine can use. */
#ifndef POLYAD_DEVICE_H
#define POLYAD_DEVICE_H

#include <polyad/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One device. */
typedef struct polyad_device_description {
  char name[32];         /**< for polyad_set_device(), such as "cuda:0" */
  char description[128]; /**< what the maker calls it */
  int processors;        /**< processors or multiprocessors that may be used */
  uint64_t memory_bytes; /**< its memory */
  uint64_t cache_bytes;  /**< its last-level cache; 0 when unknown */
  char capability[64];   /**< instruction set that kernels use ("avx512"; see polyad_set_device())
                              or compute capability ("9.0") */
} polyad_device_description;

/** Number of devices of this machine that this build can use; at least 1 (the CPU). Opens every
 *  kind of device, OpenCL's too: the driver of one that is out of order may end the process. */
POLYAD_API int polyad_device_count(polyad_context *context);
/** Describes device number `which` (from 0). Opens kinds of devices until it is found.
 *  @return POLYAD_INVALID_ARGUMENT when there is none */
POLYAD_API POLYAD_CHECKED polyad_status polyad_device_describe(polyad_context *context, int which,
                                                               polyad_device_description *about);
/** Describes the device called `name` as in polyad_set_device(), such as "cuda:1"; opens devices of
 *  its kind alone.
 *  @return POLYAD_INVALID_ARGUMENT for another word, POLYAD_DEVICE when that device is not there */
POLYAD_API POLYAD_CHECKED polyad_status polyad_device_describe_named(
    polyad_context *context, const char *name, polyad_device_description *about);
/** One line that says why there is no device of `kind` ("cuda", "opencl"), or "" if there is. Opens
 *  devices of that kind. */
POLYAD_API const char *polyad_device_why_not(polyad_context *context, const char *kind);

#ifdef __cplusplus
}
#endif
#endif
