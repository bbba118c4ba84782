/* What processes of one host share, in the prediction of a team (part_predict.c).
 *
 * `ranks_per_host` ranks that follow each other have a host. With n processes at work on it, each
 * has an n-th of the rate of the host's memory, and, where the host with all its processors is S
 * times as fast as one process, an S-th of the n-th part beyond n = S: processors that share
 * caches, execution units or a clock's budget, or that are fewer than threads. */
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
