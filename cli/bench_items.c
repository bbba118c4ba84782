/* --format of bench as a list, separated by commas, measured one after the other on a tensor that
 * is read once, against sums that are added up once. */
#include "bench.h"
#include "names.h"
#include "text.h"
#include <stdlib.h>
#include <string.h>

bool bench_is_list(const char *format) { return strpbrk(format, ",:") != NULL; }

int bench_read_items(struct bench *bench) {
  polyad_context *context = bench->session.context;
  if (!bench_is_list(bench->format)) return cli_check_format(context, bench->format, true);
  bench->items = strdup(bench->format);
  if (bench->items == NULL) return cli_failure("out of memory");
  int status = 0;
  char *rest = bench->items, *item;
  while (status == 0 && (item = strsep(&rest, ",")) != NULL) {
    status = cli_check_format(context, item, false);
    ++bench->item_count;
  }
  return status;
}

int bench_each_item(struct bench *bench, int (*each)(void *user, const char *format), void *user) {
  int first_failure = 0, measured = 0;
  const char *item = bench->items;
  for (int i = 0; i < bench->item_count && !bench_interrupted(); ++i) {
    bench->item = item;
    int status = each(user, item);
    if (status == 0) ++measured;
    if (status != 0 && first_failure == 0) first_failure = status;
    item += strlen(item) + 1;
  }
  bench->item = NULL;
  return measured > 0 ? 0 : first_failure;
}

void bench_free_items(struct bench *bench) { free(bench->items); }
