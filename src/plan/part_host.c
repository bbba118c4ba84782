/* What processes of one host share, and measuring it on this machine: see part_host.h. */
#include "plan/part_host.h"
#include "core/helper_context.h"
#include "core/machine.h"
#include "tensor/tensor.h"
#include <math.h>
#include <polyad/bench.h>

enum { HOST_RUNS = 5, HOST_ROUNDS = 3, HOST_LEAST = 1 << 20, HOST_MOST = 1 << 30 };

polyad_status pd_host_check(polyad_context *context, const polyad_scale_options *options) {
  if (options->ranks_per_host < 1)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "%d processes on a host; expected at least 1",
                   options->ranks_per_host);
  if (!(options->host_latency >= 0) || !(options->host_bytes_per_second >= 0) ||
      !(options->process_bytes_per_second >= 0) || !(options->host_speedup >= 0))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "latency %g within a host, %g bytes a second of its memory, %g of a process, "
                   "speedup %g; expected none below 0",
                   options->host_latency, options->host_bytes_per_second,
                   options->process_bytes_per_second, options->host_speedup);
  if (options->ranks_per_host > 1 && options->host_bytes_per_second == 0 &&
      options->seconds_mttkrp + options->seconds_other > 0)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "%d processes on a host whose memory's rate is not known; expected "
                   "host_bytes_per_second above 0, which polyad_scale_measure_host() sets",
                   options->ranks_per_host);
  return POLYAD_OK;
}

int pd_host_processes(const polyad_scale_options *options, int size, int k) {
  int left = size - k / options->ranks_per_host * options->ranks_per_host;
  return left < options->ranks_per_host ? left : options->ranks_per_host;
}

double pd_host_farthest(const polyad_scale_options *options, int size) {
  return size > options->ranks_per_host ? options->latency : options->host_latency;
}

double pd_host_copy_rate(const polyad_scale_options *options, int processes) {
  double share = options->host_bytes_per_second / processes;
  if (share == 0) return INFINITY; /* no times are predicted */
  double alone = options->process_bytes_per_second;
  return alone > 0 && alone < share ? alone : share;
}

double pd_host_compute(const polyad_scale_options *options, int processes, double alone,
                       double bytes) {
  double speedup = options->host_speedup;
  if (processes == 1 || alone == 0) return alone;
  if (speedup > 0 && speedup < processes) alone *= processes / speedup;
  return fmax(alone, bytes * processes / options->host_bytes_per_second);
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* What is measured, on how many bytes, by a process's threads and by all processors. */
struct host_roofs {
  const polyad_scale_options *options;
  uint64_t copied, gathered;
  double copy[2], gather[2];
};

static polyad_status best_rate(polyad_context *context, const struct host_roofs *roofs,
                               polyad_roof what, uint64_t bytes, double *rate) {
  double seconds[HOST_RUNS], work;
  PD_TRY(polyad_roof_measure(context, what, roofs->options->precision, roofs->options->rank, bytes,
                             HOST_RUNS, seconds, &work));
  for (int k = 0; k < HOST_RUNS; ++k)
    if (seconds[k] > 0) *rate = fmax(*rate, work / seconds[k]);
  return POLYAD_OK;
}

/* Rates with so many threads; each grows where it is better than before. */
static polyad_status host_rates(polyad_context *context, int threads, struct host_roofs *roofs,
                                int which) {
  polyad_context *helper = NULL;
  PD_TRY(pd_context_for_helper(context, "cpu", threads, &helper));
  polyad_status status =
      best_rate(helper, roofs, POLYAD_ROOF_COPY, roofs->copied, &roofs->copy[which]);
  if (status == POLYAD_OK)
    status = best_rate(helper, roofs, POLYAD_ROOF_GATHER, roofs->gathered, &roofs->gather[which]);
  if (status != POLYAD_OK) pd_fail(context, status, "%s", polyad_last_error(helper));
  polyad_context_destroy(helper);
  return status;
}

static uint64_t host_least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The tensor and its factors, and these alone, as far as there is room. */
static void host_sizes(const polyad_context *context, const polyad_tensor *tensor,
                       struct host_roofs *roofs) {
  const polyad_scale_options *options = roofs->options;
  uint64_t used = polyad_memory_in_use(context), limit = polyad_memory_limit(context), rows = 0;
  uint64_t most = host_least(HOST_MOST, limit > used ? (limit - used) / 4 : 0);
  uint64_t row = pd_mul_saturated(options->rank, pd_type_bytes(options->precision));
  uint64_t nonzeros = options->bytes_format;
  if (nonzeros == 0) nonzeros = polyad_tensor_bytes(tensor);
  for (int n = 0; n < tensor->order; ++n)
    rows = pd_add_saturated(rows, tensor->dims[n]);
  roofs->gathered = host_least(pd_mul_saturated(rows, row), most);
  roofs->copied = pd_add_saturated(nonzeros, pd_mul_saturated(2, pd_mul_saturated(rows, row)));
  if (roofs->copied < HOST_LEAST) roofs->copied = HOST_LEAST;
  roofs->copied = host_least(roofs->copied, most);
}

polyad_status polyad_scale_measure_host(polyad_context *context, const polyad_tensor *tensor,
                                        polyad_scale_options *options) {
  PD_ENTER(context);
  if (tensor == NULL || options == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "tensor or options is NULL");
  struct host_roofs roofs = {.options = options};
  host_sizes(context, tensor, &roofs);
  for (int k = 0; k < HOST_ROUNDS; ++k) {
    PD_TRY(host_rates(context, polyad_threads(context), &roofs, 0));
    PD_TRY(host_rates(context, pd_machine_processors(), &roofs, 1));
  }
  options->host_bytes_per_second = fmax(roofs.copy[0], roofs.copy[1]);
  options->process_bytes_per_second = roofs.copy[0];
  options->host_speedup = fmax(1, roofs.gather[1] / roofs.gather[0]);
  return POLYAD_OK;
}
