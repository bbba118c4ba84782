/** @file
 *  @brief What several processes would make of a tensor, before there are any.
 *
 *  The grid that a team of a given size would be, the nonzeros and rows that its members would
 *  have, and the rows that would travel are counted on the tensor itself, by what cuts tensors for
 *  real teams (polyad/team.h): they are not estimates. Memory and time are estimated from these
 *  counts, from an iteration's time on one process and from the network's rates. */
#ifndef POLYAD_SCALE_H
#define POLYAD_SCALE_H

#include <polyad/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What is asked. Start from polyad_scale_options_init(). */
typedef struct polyad_scale_options {
  uint64_t rank;           /**< components (default 16) */
  polyad_type precision;   /**< type of values and factors (default POLYAD_F64) */
  uint64_t bytes_format;   /**< polyad_plan_bytes() of a plan of the whole tensor; 0 (default):
                                estimated */
  double seconds_mttkrp;   /**< of MTTKRP of all modes once, by one process with the whole tensor; 0
                                (default): not known, and no times are predicted */
  double seconds_other;    /**< all else of an iteration, by the same process */
  double bytes_per_second; /**< that a host sends, and receives at the same time (default 12.5e9,
                                which is 100 Gbit/s): its processes share it */
  double latency;          /**< seconds of a message without content (default 5e-6) */
  int ranks_per_host;      /**< processes of one host, ranks that follow each other (default 1) */
  double host_latency;     /**< seconds of a message within a host (default 1e-6) */
  double host_bytes_per_second;    /**< that a host's memory reads and writes, together, for all
                                        its processes; 0 (default): not known, and no times are
                                        predicted for several processes of a host */
  double process_bytes_per_second; /**< that one process alone on a host reads and writes; 0
                                        (default): as much as the host */
  double host_speedup; /**< how many times as fast as one process the processors of a host are with
                            all of its processes; 0 (default): as many times as there are processes
                          */
} polyad_scale_options;

/** Sets defaults. */
POLYAD_API void polyad_scale_options_init(polyad_scale_options *options);

/** Measures the rates of this machine's processors as those of a host, with the context's threads
 * as those of a process, and sets `host_bytes_per_second`, `process_bytes_per_second` and
 * `host_speedup`: by copying as many bytes as the tensor and its factors take, and by gathering
 * rows from as many as the factors take, with a process's threads and with all processors this
 * process may use.
 *
 *  On a machine that is busy otherwise rates are lower. Memory: at most 2^30 bytes, and at most a
 *  quarter of what the context may still take.
 *  @param[in,out] options  rank, precision and bytes_format count
 *  @return POLYAD_INVALID_ARGUMENT, POLYAD_MEMORY_LIMIT, POLYAD_OUT_OF_MEMORY */
POLYAD_API POLYAD_CHECKED polyad_status polyad_scale_measure_host(polyad_context *context,
                                                                  const polyad_tensor *tensor,
                                                                  polyad_scale_options *options);

/** What is predicted for one number of processes. Times are of one iteration of CP-ALS; they are 0
 *  where options have none. */
typedef struct polyad_scale {
  int size;                   /**< processes */
  int grid[POLYAD_MAX_ORDER]; /**< ranges that each mode is cut into: their product is `size` */
  uint64_t most_nnz;          /**< nonzeros of the process that has most */
  uint64_t most_rows_read;    /**< the most rows of all factors that a process has: its nonzeros
                                   need them, or it owns them and nobody's do */
  uint64_t most_rows_owned;   /**< the most rows that a process updates */
  uint64_t most_bytes_sent;   /**< the most that a process sends in an iteration: its rows */
  uint64_t bytes_sent;        /**< by all processes in an iteration: their rows */
  uint64_t most_bytes;        /**< the most memory that a process has in use (estimated) */
  double seconds_compute;     /**< of the process that computes longest */
  double seconds_network;     /**< of the process that has most to send or to get */
  double seconds;             /**< both together */
  double efficiency;          /**< time of one process over `size` times `seconds` */
} polyad_scale;

/** Predicts how `size` processes would share a tensor.
 *
 *  Time: the larger part is sorting nnz numbers of 64 bits once for every mode. Memory: 20 bytes
 *  for each nonzero.
 *  @param size     processes, 1 to 65536
 *  @param[out] scale  filled in
 *  @param[out] members  what polyad_plan_team_gather() would tell of `size` processes, with
 *                       bytes_sent and seconds of one iteration; NULL: not wanted
 *  @return POLYAD_INVALID_ARGUMENT; POLYAD_OVERFLOW where a mode's length times `size` is 2^64 or
 *  more; POLYAD_MEMORY_LIMIT, POLYAD_OUT_OF_MEMORY, POLYAD_CANCELLED */
POLYAD_API POLYAD_CHECKED polyad_status polyad_scale_predict(polyad_context *context,
                                                             const polyad_tensor *tensor,
                                                             const polyad_scale_options *options,
                                                             int size, polyad_scale *scale,
                                                             polyad_team_info *members);

#ifdef __cplusplus
}
#endif
#endif
