#include "io/delimited_dictionary.h"
#include "io/number.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { FIRST_SLOTS = 1024 };

polyad_status pd_dictionary_open(polyad_context *context, uint64_t seed,
                                 struct pd_dictionary *dictionary) {
  *dictionary = (struct pd_dictionary){.context = context,
                                       .seed = seed,
                                       .slots = FIRST_SLOTS,
                                       .label_capacity = FIRST_SLOTS / 2,
                                       .text_capacity = 1 << 13};
  PD_TRY(PD_NEW(context, dictionary->label_capacity + 1, &dictionary->labels.start));
  PD_TRY(PD_NEW(context, dictionary->label_capacity, &dictionary->hash));
  PD_TRY(PD_NEW(context, dictionary->text_capacity, &dictionary->labels.text));
  dictionary->labels.start[0] = 0;
  return PD_NEW_ZERO(context, dictionary->slots, &dictionary->slot);
}

void pd_dictionary_close(struct pd_dictionary *dictionary) {
  PD_FREE(dictionary->context, dictionary->labels.start, dictionary->labels.text, dictionary->hash,
          dictionary->slot);
}

static bool is_label(const struct pd_labels *labels, uint64_t i, const char *text, size_t length) {
  return labels->start[i + 1] - labels->start[i] - 1 == length &&
         memcmp(labels->text + labels->start[i], text, length) == 0;
}

static polyad_status grow_slots(struct pd_dictionary *d) {
  uint32_t *slot;
  uint64_t slots = 2 * d->slots, capacity = 2 * d->label_capacity;
  PD_TRY(pd_realloc(d->context, capacity + 1, sizeof(uint64_t), (void **)&d->labels.start));
  PD_TRY(pd_realloc(d->context, capacity, sizeof(uint64_t), (void **)&d->hash));
  PD_TRY(PD_NEW_ZERO(d->context, slots, &slot));
  for (uint64_t i = 0; i < d->labels.count; ++i) {
    uint64_t at = d->hash[i] & (slots - 1);
    while (slot[at] != 0)
      at = (at + 1) & (slots - 1);
    slot[at] = (uint32_t)i + 1;
  }
  pd_free(d->context, d->slot);
  d->slot = slot;
  d->slots = slots;
  d->label_capacity = capacity;
  return POLYAD_OK;
}

static polyad_status add_label(struct pd_dictionary *d, const char *text, size_t length,
                               uint64_t hash, uint64_t at) {
  struct pd_labels *labels = &d->labels;
  uint64_t used = labels->start[labels->count];
  if (labels->count >= UINT32_MAX - 1)
    return pd_fail(d->context, POLYAD_OVERFLOW, "a column has more than 2^32 - 2 labels");
  if (length + 1 > d->text_capacity - used) {
    uint64_t doubled = 2 * d->text_capacity, needed = used + length + 1;
    uint64_t capacity = needed > doubled ? needed : doubled;
    PD_TRY(pd_realloc(d->context, capacity, 1, (void **)&labels->text));
    d->text_capacity = capacity;
  }
  memcpy(labels->text + used, text, length);
  labels->text[used + length] = '\0';
  d->hash[labels->count] = hash;
  labels->start[++labels->count] = used + length + 1;
  d->slot[at] = (uint32_t)labels->count;
  return labels->count == d->label_capacity ? grow_slots(d) : POLYAD_OK;
}

uint64_t pd_dictionary_hash(const struct pd_dictionary *d, const char *label, size_t length) {
  return XXH3_64bits_withSeed(label, length, d->seed);
}

/* The slot of a label, or the empty one where it belongs. */
static uint64_t find_slot(const struct pd_dictionary *d, const char *label, size_t length,
                          uint64_t hash) {
  uint64_t at = hash & (d->slots - 1);
  for (; d->slot[at] != 0; at = (at + 1) & (d->slots - 1)) {
    uint32_t i = d->slot[at] - 1;
    if (d->hash[i] == hash && is_label(&d->labels, i, label, length)) break;
  }
  return at;
}

bool pd_dictionary_find(const struct pd_dictionary *d, const char *label, size_t length,
                        uint64_t hash, uint32_t *number) {
  uint64_t at = find_slot(d, label, length, hash);
  *number = d->slot[at] - 1;
  return d->slot[at] != 0;
}

polyad_status pd_dictionary_number(struct pd_dictionary *d, const char *label, size_t length,
                                   uint32_t *number) {
  /* Neighbouring rows often share labels. */
  if (d->last < d->labels.count && is_label(&d->labels, d->last, label, length)) {
    *number = d->last;
    return POLYAD_OK;
  }
  uint64_t hash = pd_dictionary_hash(d, label, length), at = find_slot(d, label, length, hash);
  if (d->slot[at] != 0) {
    *number = d->last = d->slot[at] - 1;
    return POLYAD_OK;
  }
  *number = d->last = (uint32_t)d->labels.count;
  return add_label(d, label, length, hash, at);
}

/* ---- order ---------------------------------------------------------------------------------- */

struct item {
  double value; /* where all labels are numbers, else 0 */
  const char *text;
  size_t length;
  uint32_t number;
};

static int delimited_dictionary_compare(const void *a, const void *b) {
  const struct item *x = a, *y = b;
  if (x->value != y->value) return x->value < y->value ? -1 : 1;
  size_t length = x->length < y->length ? x->length : y->length;
  int order = memcmp(x->text, y->text, length);
  if (order != 0) return order;
  return x->length < y->length ? -1 : x->length > y->length;
}

/* Gives the items their values; false when some label is no number. */
static bool set_values(struct item *items, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const char *text = items[i].text;
    enum pd_number_result result = pd_parse_double(text, text + items[i].length, &items[i].value);
    if (items[i].length == 0)
      items[i].value = -1.0 / 0.0;
    else if (result != PD_NUMBER_OK && result != PD_NUMBER_UNDERFLOW)
      return false;
  }
  return true;
}

static void take_items(const struct pd_labels *labels, struct item *items) {
  for (uint64_t i = 0; i < labels->count; ++i)
    items[i] = (struct item){.text = labels->text + labels->start[i],
                             .length = (size_t)(labels->start[i + 1] - labels->start[i] - 1),
                             .number = (uint32_t)i};
}

polyad_status pd_dictionary_sort(struct pd_dictionary *dictionary, uint32_t *place) {
  polyad_context *context = dictionary->context;
  struct pd_labels *labels = &dictionary->labels, sorted = {.count = labels->count};
  struct item *items = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(PD_NEW(context, labels->count, &items));
  PD_TRY_CLEANUP(PD_NEW(context, labels->count + 1, &sorted.start));
  PD_TRY_CLEANUP(PD_NEW(context, labels->start[labels->count], &sorted.text));
  take_items(labels, items);
  dictionary->numbers = set_values(items, labels->count);
  for (uint64_t i = 0; i < labels->count && dictionary->numbers; ++i)
    dictionary->fractions |= items[i].length > 0 && floor(items[i].value) != items[i].value;
  if (!dictionary->numbers) take_items(labels, items);
  qsort(items, (size_t)labels->count, sizeof *items, delimited_dictionary_compare);
  sorted.start[0] = 0;
  for (uint64_t i = 0; i < labels->count; ++i) {
    place[items[i].number] = (uint32_t)i;
    memcpy(sorted.text + sorted.start[i], items[i].text, items[i].length + 1);
    sorted.start[i + 1] = sorted.start[i] + items[i].length + 1;
  }
  PD_FREE(context, labels->start, labels->text);
  *labels = sorted;
  sorted = (struct pd_labels){0};

cleanup:
  PD_FREE(context, items, sorted.start, sorted.text);
  return status;
}
