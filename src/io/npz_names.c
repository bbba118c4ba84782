/* Names and labels of a NumPy archive's tensor or model: arrays of text, UTF-8 here and four bytes
 * for each character there. */
#include "io/npz_names.h"
#include "core/core.h"
#include "tensor/tensor.h"
#include <stdio.h>
#include <string.h>

enum { UTF8_BYTES = 4, REPLACEMENT = 0xfffd, LAST_CHARACTER = 0x10ffff, BLOCK = 1024 };

/* The next character of a text; bytes that are no UTF-8 become U+FFFD. */
static uint32_t next_character(const unsigned char *text, size_t length, size_t *at) {
  size_t size = pd_utf8_length(text + *at, length - *at);
  const unsigned char *s = text + *at;
  *at += size == 0 ? 1 : size;
  if (size == 0) return REPLACEMENT;
  uint32_t character = size == 1 ? s[0] : s[0] & (0x7fu >> size);
  for (size_t k = 1; k < size; ++k)
    character = character << 6 | (s[k] & 0x3fu);
  return character;
}

/* The bytes of a character in UTF-8, 0 where it is none. */
static size_t put_utf8(uint32_t character, char out[UTF8_BYTES]) {
  static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  if (character > LAST_CHARACTER || (character >= 0xd800 && character < 0xe000)) return 0;
  size_t size = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
  for (size_t k = size - 1; k > 0; --k, character >>= 6)
    out[k] = (char)(0x80 | (character & 0x3f));
  out[0] = (char)(lead[size] | character);
  return size;
}

/* ---- writing ---- */

struct pd_npy pd_npy_of(const char *name, char kind, size_t item_bytes, int order,
                        const uint64_t *shape) {
  struct pd_npy array = {.kind = kind, .item_bytes = (int)item_bytes, .order = order, .count = 1};
  snprintf(array.name, sizeof array.name, "%s", name);
  for (int n = 0; n < order; ++n) {
    array.shape[n] = shape[n];
    array.count *= shape[n];
  }
  return array;
}

/* Texts of an array: labels of a mode, names of modes, or one alone. */
struct texts {
  const polyad_tensor *tensor;
  int mode; /* -1: names of the modes */
  uint64_t count, width;
};

static const char *text_at(const struct texts *texts, uint64_t k, size_t *length) {
  if (texts->mode >= 0) return polyad_tensor_label(texts->tensor, texts->mode, k, length);
  const char *name = polyad_tensor_mode_name(texts->tensor, (int)k);
  *length = name == NULL ? 0 : strlen(name);
  return name == NULL ? "" : name;
}

static void find_width(struct texts *texts) {
  texts->width = 1;
  for (uint64_t k = 0; k < texts->count; ++k) {
    size_t length, at = 0;
    uint64_t characters = 0;
    const char *text = text_at(texts, k, &length);
    for (; at < length; ++characters)
      (void)next_character((const unsigned char *)text, length, &at);
    if (characters > texts->width) texts->width = characters;
  }
}

static polyad_status fill_texts(struct pd_npz_sink *sink, const void *user) {
  static const uint32_t nothing[BLOCK];
  const struct texts *texts = user;
  for (uint64_t k = 0; k < texts->count; ++k) {
    size_t length, at = 0;
    uint64_t left = texts->width;
    const char *text = text_at(texts, k, &length);
    for (; at < length; --left) {
      uint32_t character = next_character((const unsigned char *)text, length, &at);
      PD_TRY(pd_npz_bytes(sink, &character, sizeof character));
    }
    for (uint64_t some; left > 0; left -= some) {
      some = left < BLOCK ? left : BLOCK;
      PD_TRY(pd_npz_bytes(sink, nothing, some * sizeof *nothing));
    }
  }
  return POLYAD_OK;
}

static polyad_status put_texts(struct pd_npz_writer *w, const char *name, struct texts texts) {
  find_width(&texts);
  struct pd_npy array = pd_npy_of(name, 'U', (size_t)(4 * texts.width), 1, &texts.count);
  return pd_npz_put(w, &array, fill_texts, &texts);
}

polyad_status pd_npz_put_names(struct pd_npz_writer *w, const polyad_tensor *outline) {
  bool named = false;
  char name[PD_NPZ_NAME_BYTES];
  if (outline == NULL) return POLYAD_OK;
  for (int n = 0; n < outline->order; ++n) {
    named = named || outline->mode_name[n] != NULL;
    if (outline->labels[n].count == 0) continue;
    snprintf(name, sizeof name, "labels_%d", n);
    PD_TRY(put_texts(w, name, (struct texts){outline, n, outline->dims[n], 0}));
  }
  if (!named) return POLYAD_OK;
  return put_texts(w, "mode_names", (struct texts){outline, -1, (uint64_t)outline->order, 0});
}

/* ---- reading ---- */

/* An array of texts as labels. */
static polyad_status take_texts(const struct pd_npz *npz, const struct pd_npy *array,
                                struct pd_labels *labels) {
  uint64_t width = (uint64_t)array->item_bytes / 4, bytes = 0;
  const uint32_t *text = array->data;
  char out[UTF8_BYTES];
  if (array->kind != 'U') return pd_npz_fail(npz, array->name, "text");
  for (uint64_t k = 0; k < array->count * width; ++k)
    bytes += put_utf8(text[k], out);
  PD_TRY(PD_NEW(npz->context, array->count + 1, &labels->start));
  PD_TRY(PD_NEW(npz->context, bytes + array->count, &labels->text));
  for (uint64_t i = 0, at = 0; i < array->count; ++i, text += width) {
    uint64_t length = width;
    labels->start[i] = at;
    while (length > 0 && text[length - 1] == 0)
      --length;
    for (uint64_t k = 0; k < length; ++k) {
      size_t size = put_utf8(text[k], out);
      if (size == 0) return pd_npz_fail(npz, array->name, "text of Unicode's characters");
      memcpy(labels->text + at, out, size);
      at += size;
    }
    labels->text[at++] = '\0';
    labels->start[i + 1] = at;
  }
  labels->count = array->count;
  return POLYAD_OK;
}

static polyad_status take_names(const struct pd_npz *npz, polyad_tensor *tensor,
                                const struct pd_labels *names) {
  if (names->count != (uint64_t)tensor->order)
    return pd_npz_fail(npz, "mode_names", "a name for each mode");
  for (int n = 0; n < tensor->order; ++n) {
    const char *name = names->text + names->start[n];
    size_t size = strlen(name) + 1;
    if (size == 1) continue;
    PD_TRY(PD_NEW(npz->context, size, &tensor->mode_name[n]));
    memcpy(tensor->mode_name[n], name, size);
  }
  return POLYAD_OK;
}

static polyad_status take_labels(const struct pd_npz *npz, polyad_tensor *tensor, int mode,
                                 const struct pd_npy *array) {
  struct pd_labels labels = {0};
  polyad_status status = take_texts(npz, array, &labels);
  if (status == POLYAD_OK && mode < 0) status = take_names(npz, tensor, &labels);
  if (status == POLYAD_OK && mode >= 0) {
    if (labels.count == tensor->dims[mode])
      pd_tensor_take_labels(tensor, mode, &labels);
    else
      status = pd_npz_fail(npz, array->name, "a label for each index of the mode");
  }
  PD_FREE(npz->context, labels.start, labels.text);
  return status;
}

bool pd_npz_has_names(const struct pd_npz *npz) {
  for (int k = 0; k < npz->count; ++k)
    if (strncmp(npz->array[k].name, "labels_", 7) == 0) return true;
  return pd_npz_find(npz, "mode_names") != NULL;
}

polyad_status pd_npz_take_names(const struct pd_npz *npz, polyad_tensor *tensor) {
  const struct pd_npy *array = pd_npz_find(npz, "mode_names");
  if (array != NULL) PD_TRY(take_labels(npz, tensor, -1, array));
  for (int n = 0; n < tensor->order; ++n) {
    char name[PD_NPZ_NAME_BYTES];
    snprintf(name, sizeof name, "labels_%d", n);
    array = pd_npz_find(npz, name);
    if (array != NULL) PD_TRY(take_labels(npz, tensor, n, array));
  }
  return POLYAD_OK;
}
