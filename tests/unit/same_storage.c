#include "unit/same_storage.h"
#include "harness.h"
#include <string.h>

enum { ARRAYS_MOST = 2048 };

/* What a storage shows. */
struct shown {
  struct pd_arrays arrays; /* first: the visitor gets its address */
  int count;
  const void *data[ARRAYS_MOST];
  uint64_t bytes[ARRAYS_MOST];
};

static void note(struct pd_arrays *arrays, void **data, uint64_t bytes, enum pd_array_use use) {
  struct shown *shown = (struct shown *)(void *)arrays;
  if (use == PD_ARRAY_HOST) return;
  assert_true(shown->count < ARRAYS_MOST);
  shown->data[shown->count] = *data;
  shown->bytes[shown->count++] = bytes;
}

void assert_same_storage(const char *name, const struct polyad_format *format, const void *found,
                         const void *wanted) {
  static struct shown shown[2];
  char text[2][PD_REASON_BYTES];
  const void *storage[2] = {found, wanted};
  for (int k = 0; k < 2; ++k) {
    shown[k].count = 0;
    shown[k].arrays.visit = note;
    format->arrays((void *)storage[k], &shown[k].arrays); /* only looked at */
    format->describe(storage[k], 1, text[k]);
  }
  if (shown[0].count != shown[1].count)
    fail_msg("%s, %s: %d arrays, expected %d", format->name, name, shown[0].count, shown[1].count);
  for (int a = 0; a < shown[0].count; ++a) {
    uint64_t bytes = shown[1].bytes[a];
    if (shown[0].bytes[a] != bytes ||
        (bytes > 0 && memcmp(shown[0].data[a], shown[1].data[a], bytes) != 0))
      fail_msg("%s, %s: array %d of %llu bytes differs", format->name, name, a,
               (unsigned long long)bytes);
  }
  assert_string_equal(text[0], text[1]);
  assert_true(pd_storage_bytes(format, found) == pd_storage_bytes(format, wanted));
}
