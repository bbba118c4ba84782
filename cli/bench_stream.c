/* bench stream: the four loops of STREAM on a device, tuned by hand and (--portable) from the
 * source for all devices, run in turn. */
#include "bench.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const loops[] = {"copy", "scale", "add", "triad"};
enum { LOOPS = 4, DEFAULT_ELEMENTS = 16 << 20 };

static int open_stream(struct bench *bench, polyad_stream **stream) {
  polyad_context *context = bench->session.context;
  uint64_t count = bench->elements > 0 ? bench->elements : DEFAULT_ELEMENTS;
  if (polyad_stream_create(context, count, cli_precision(&bench->session), stream) != POLYAD_OK)
    return cli_library_failure(context);
  return 0;
}

struct measured {
  double *seconds[2]; /* tuned, portable */
  int runs[2];
  struct bench_row rows[2 * LOOPS];
  int count;
};

static int time_loop(struct bench *bench, polyad_stream *stream, int loop, const bool wanted[2],
                     struct measured *measured) {
  polyad_context *context = bench->session.context;
  measured->runs[0] = measured->runs[1] = 0;
  for (uint64_t k = 0; k < bench->warmup + bench->repeat; ++k) {
    for (int v = 0; v < 2; ++v) {
      double seconds;
      if (!wanted[v]) continue;
      if (polyad_stream_run(stream, (polyad_stream_loop)loop, v, &seconds) != POLYAD_OK)
        return cli_library_failure(context);
      if (k >= bench->warmup) measured->seconds[v][measured->runs[v]++] = seconds;
    }
    if (bench_interrupted() && k >= bench->warmup) break;
  }
  for (int v = 0; v < 2; ++v) {
    if (!wanted[v]) continue;
    struct bench_row row = {.format = loops[loop]};
    snprintf(row.variant, sizeof row.variant, "%s", v == 0 ? "tuned" : "portable");
    bench_summarise(measured->seconds[v], measured->runs[v], &row);
    row.bytes_moved = polyad_stream_bytes(stream, (polyad_stream_loop)loop);
    if (polyad_stream_check(stream, (polyad_stream_loop)loop, v, &row.max_relative_error) !=
        POLYAD_OK)
      return cli_library_failure(context);
    measured->rows[measured->count++] = row;
  }
  return 0;
}

/* The bound of every row is the best bandwidth that any of them reached. */
static void add_rows(struct bench *bench, struct measured *measured) {
  double best = 0;
  for (int k = 0; k < measured->count; ++k)
    best = fmax(best, measured->rows[k].bytes_moved / measured->rows[k].median);
  for (int k = 0; k < measured->count; ++k) {
    struct bench_row *row = &measured->rows[k];
    row->bound_seconds = fmin(row->bytes_moved / best, row->median); /* rounding is no speed-up */
    bench_add(bench, row);
  }
  for (int k = 0; k + 1 < measured->count; k += 2)
    if (bench->portable)
      cli_talk(&bench->session, "%s: portable runs at %.3f of tuned\n", measured->rows[k].format,
               measured->rows[k].median / measured->rows[k + 1].median);
}

int bench_stream(struct bench *bench) {
  polyad_stream *stream = NULL;
  struct measured measured = {.count = 0};
  int status = open_stream(bench, &stream);
  if (status != 0) return status;
  bool wanted[2] = {polyad_stream_has(stream, 0) != 0,
                    bench->portable || !polyad_stream_has(stream, 0)};
  for (int v = 0; v < 2; ++v)
    measured.seconds[v] = malloc(bench->repeat * sizeof(double));
  if (measured.seconds[0] == NULL || measured.seconds[1] == NULL)
    status = cli_failure("out of memory");
  for (int loop = 0; loop < LOOPS && status == 0 && !bench_interrupted(); ++loop)
    status = time_loop(bench, stream, loop, wanted, &measured);
  if (status == 0) add_rows(bench, &measured);
  polyad_stream_destroy(stream);
  free(measured.seconds[0]);
  free(measured.seconds[1]);
  return status;
}
