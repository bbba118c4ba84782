/* --format of bench as a list: NAME[:VARIANT][:OPTION=N]..., separated by commas, measured one
 * after the other on a tensor that is read once, against sums that are added up once. */
#include "bench.h"
#include "names.h"
#include "text.h"
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  size_t offset; /* in the session */
  uint64_t most;
} numbers[] = {
    {"kappa", offsetof(struct cli_session, kappa), POLYAD_MAX_PARTITIONS},
    {"block-columns", offsetof(struct cli_session, block_columns), POLYAD_MAX_COLUMNS},
    {"order-for-mode", offsetof(struct cli_session, order_for_mode), POLYAD_MAX_ORDER},
    {"tile-threshold", offsetof(struct cli_session, tile_threshold), POLYAD_MAX_TILE_THRESHOLD}};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

struct bench_item {
  char *text, *words; /* words: the same text, cut at its colons */
  const char *format, *variant;
  uint64_t number[NUMBERS];
};

static uint64_t *number_of(struct bench *bench, int k) {
  return (uint64_t *)((char *)&bench->session + numbers[k].offset);
}

static int read_number(struct bench_item *item, const char *word) {
  char quoted[CLI_QUOTE_BYTES];
  size_t length = strcspn(word, "=");
  for (int k = 0; k < NUMBERS && word[length] == '='; ++k) {
    if (strlen(numbers[k].name) != length || memcmp(word, numbers[k].name, length) != 0) continue;
    if (cli_read_count(word + length + 1, &item->number[k]) && item->number[k] >= 1 &&
        item->number[k] <= numbers[k].most)
      return 0;
    return cli_usage_error("--format ...:%s found; expected an integer from 1 to %llu",
                           cli_quote(quoted, word), (unsigned long long)numbers[k].most);
  }
  return cli_usage_error("--format ...:%s found; expected kappa=N, block-columns=N, "
                         "order-for-mode=N or tile-threshold=N",
                         cli_quote(quoted, word));
}

static int read_item(struct bench *bench, const char *text, size_t length,
                     struct bench_item *item) {
  *item = (struct bench_item){
      .text = strndup(text, length), .words = strndup(text, length), .variant = bench->variant};
  if (item->text == NULL || item->words == NULL) return cli_failure("out of memory");
  for (int k = 0; k < NUMBERS; ++k)
    item->number[k] = *number_of(bench, k);
  char *word, *rest = item->words;
  item->format = strsep(&rest, ":");
  int status = cli_check_format(item->format, false);
  for (bool first = true; status == 0 && (word = strsep(&rest, ":")) != NULL; first = false)
    if (first && strchr(word, '=') == NULL)
      item->variant = word;
    else
      status = read_number(item, word);
  return status;
}

int bench_read_items(struct bench *bench) {
  const char *text = bench->format;
  size_t count = 1;
  if (strpbrk(text, ",:") == NULL) return cli_check_format(text, true);
  for (const char *p = text; *p != '\0'; ++p)
    count += *p == ',';
  bench->items = calloc(count, sizeof *bench->items);
  if (bench->items == NULL) return cli_failure("out of memory");
  int status = 0;
  for (size_t k = 0; k < count && status == 0; ++k) {
    size_t length = strcspn(text, ",");
    status = read_item(bench, text, length, &bench->items[bench->item_count++]);
    text += length + 1;
  }
  return status;
}

int bench_each_item(struct bench *bench, int (*each)(void *user, const char *format), void *user) {
  int first_failure = 0, measured = 0;
  for (int i = 0; i < bench->item_count && !bench_interrupted(); ++i) {
    const struct bench_item *item = &bench->items[i];
    bench->item = item->text;
    bench->variant = item->variant;
    for (int k = 0; k < NUMBERS; ++k)
      *number_of(bench, k) = item->number[k];
    int status = each(user, item->format);
    if (status == 0) ++measured;
    if (status != 0 && first_failure == 0) first_failure = status;
  }
  bench->item = NULL;
  return measured > 0 ? 0 : first_failure;
}

void bench_free_items(struct bench *bench) {
  for (int i = 0; i < bench->item_count; ++i) {
    free(bench->items[i].text);
    free(bench->items[i].words);
  }
  free(bench->items);
}
