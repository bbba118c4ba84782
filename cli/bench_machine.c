/* bench read. */
#include "bench.h"
#include "text.h"
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

int bench_read(struct bench *bench) {
  struct stat about;
  double *seconds = malloc(bench->repeat * sizeof *seconds);
  if (seconds == NULL) return cli_failure("out of memory");
  int runs = 0, status = 0;
  for (uint64_t k = 0; k < bench->warmup + bench->repeat && status == 0; ++k) {
    polyad_tensor_destroy(bench->tensor);
    bench->tensor = NULL;
    double begin = cli_now();
    status = cli_read_tensor(&bench->session, bench->file, &bench->tensor);
    if (status == 0 && k >= bench->warmup) seconds[runs++] = cli_now() - begin;
    if (bench_interrupted() && runs > 0) break;
  }
  if (status == 0) {
    struct bench_row row = {.format = "read", .max_relative_error = NAN};
    bench_summarise(seconds, runs, &row);
    if (stat(bench->file, &about) == 0) row.bytes_moved = (double)about.st_size;
    bench_add(bench, &row);
    cli_talk(&bench->session, "%.2f million nonzeros a second\n",
             1e-6 * (double)polyad_tensor_nnz(bench->tensor) / row.median);
  }
  free(seconds);
  return status;
}
