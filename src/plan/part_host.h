/* What processes of one host share, in the prediction of a team (part_predict.c).
 *
 * Each host has `ranks_per_host` processes, whose ranks follow each other. While n processes work
 * on a host, each gets 1/n of the rate of its memory. All processors of a host together are S times
 * as fast as one process: S is less than n where processors share caches, execution units or a
 * clock's budget, or where threads are more than processors. Then each process takes n/S times as
 * long as it does alone. */
#ifndef PD_PART_HOST_H
#define PD_PART_HOST_H

#include "core/core.h"
#include <polyad/scale.h>

/** Whether what the options say of hosts can be. */
polyad_status pd_host_check(polyad_context *context, const polyad_scale_options *options);
/** Processes on the host of member `k` of `size`. */
int pd_host_processes(const polyad_scale_options *options, int size, int k);
/** Seconds of a message between two of `size` members, which may be on different hosts. */
double pd_host_farthest(const polyad_scale_options *options, int size);
/** Bytes a second that each of so many processes of a host reads and writes. */
double pd_host_copy_rate(const polyad_scale_options *options, int processes);
/** Seconds in which each of so many processes computes what takes one by itself `alone`, and moves
 *  `bytes` at the least. */
double pd_host_compute(const polyad_scale_options *options, int processes, double alone,
                       double bytes);

#endif
