#include "tensor/generate_sort.h"
#include <stdbool.h>
#include <string.h>

enum { INSERTION_LIMIT = 24, RADIX_FROM = 512, MOST_WORDS = 16 };

bool pd_item_before(const uint64_t *a, const uint64_t *b, int words) {
  for (int w = 0; w < words; ++w)
    if (a[w] != b[w]) return a[w] < b[w];
  return false;
}

static void copy_item(uint64_t *to, const uint64_t *from, int words) {
  for (int w = 0; w < words; ++w)
    to[w] = from[w];
}

static void generate_sort_insertion_sort(uint64_t *items, uint64_t count, int words) {
  uint64_t item[MOST_WORDS], size = (uint64_t)words;
  for (uint64_t p = 1; p < count; ++p) {
    uint64_t q = p;
    copy_item(item, items + p * size, words);
    while (q > 0 && pd_item_before(item, items + (q - 1) * size, words)) {
      copy_item(items + q * size, items + (q - 1) * size, words);
      --q;
    }
    copy_item(items + q * size, item, words);
  }
}

static void merge_sort(uint64_t *items, uint64_t *spare, uint64_t count, int words) {
  if (count <= INSERTION_LIMIT) {
    generate_sort_insertion_sort(items, count, words);
    return;
  }
  uint64_t half = count / 2, size = (uint64_t)words, left = 0, right = half;
  merge_sort(items, spare, half, words);
  merge_sort(items + half * size, spare, count - half, words);
  memcpy(spare, items, half * size * sizeof *items);
  for (uint64_t to = 0; left < half; ++to) {
    bool take_right =
        right < count && pd_item_before(items + right * size, spare + left * size, words);
    copy_item(items + to * size, take_right ? items + right++ * size : spare + left++ * size,
              words);
  }
}

static void radix_sort(uint64_t *items, uint64_t *spare, uint64_t count, int bits) {
  for (int shift = 0; shift < bits; shift += 8) {
    uint64_t place[257] = {0};
    for (uint64_t p = 0; p < count; ++p)
      ++place[(items[p] >> shift & 255) + 1];
    for (int digit = 0; digit < 256; ++digit)
      place[digit + 1] += place[digit];
    for (uint64_t p = 0; p < count; ++p)
      spare[place[items[p] >> shift & 255]++] = items[p];
    memcpy(items, spare, count * sizeof *items);
  }
}

void pd_sort_items(uint64_t *items, uint64_t *spare, uint64_t count, int words, int bits) {
  if (words == 1 && count >= RADIX_FROM)
    radix_sort(items, spare, count, bits);
  else
    merge_sort(items, spare, count, words);
}
