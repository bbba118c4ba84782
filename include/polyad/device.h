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
/** Bytes of its own memory that polyad holds on the device called `name`, and the most that it has
 *  held since the process began: storages, factors and what is needed to compute; not what the
 *  driver and libraries take. Both are 0 of a device whose memory is the host's, which
 *  polyad_memory_in_use() counts, and of OpenCL's.
 *  @param[out] in_use, peak  may be NULL
 *  @return as polyad_device_describe_named() */
POLYAD_API POLYAD_CHECKED polyad_status polyad_device_memory(polyad_context *context,
                                                             const char *name, uint64_t *in_use,
                                                             uint64_t *peak);
/** Ends the drivers of GPUs that the process has opened, for a program that is about to end: that
 *  takes about a tenth of a second, which it would else spend after its last line. What lies on
 * GPUs is gone: workspaces are to be destroyed before, plans may be afterwards, and the devices are
 * lost (POLYAD_DEVICE_LOST). No other thread may be in a call, and nothing else of the process may
 * use the GPUs, since their primary contexts end. Does nothing where several GPUs are open. */
POLYAD_API void polyad_devices_close(void);
/** One line that says why there is no device of `kind` ("cuda", "opencl"), or "" if there is. Opens
 *  devices of that kind. */
POLYAD_API const char *polyad_device_why_not(polyad_context *context, const char *kind);

#ifdef __cplusplus
}
#endif
#endif
