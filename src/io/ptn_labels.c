#include "io/ptn_labels.h"
#include <inttypes.h>
#include <string.h>

/* One per mode at the start of the section; then, mode by mode, the name, the offsets of the
 * labels (count + 1, from the start of their text) and the text, each padded to 8 bytes. */
struct entry {
  uint64_t named;      /* 1 when the mode has a name */
  uint64_t name_bytes; /* without an end mark */
  uint64_t count;      /* labels: 0 or the length of the mode */
  uint64_t text_bytes; /* with a NUL after each label */
};

static uint64_t padded(uint64_t bytes) { return (bytes + 7) & ~UINT64_C(7); }

static struct entry entry_of(const polyad_tensor *tensor, int mode) {
  const char *name = tensor->mode_name[mode];
  const struct pd_labels *labels = &tensor->labels[mode];
  return (struct entry){.named = name != NULL,
                        .name_bytes = name != NULL ? strlen(name) : 0,
                        .count = labels->count,
                        .text_bytes = labels->count != 0 ? labels->start[labels->count] : 0};
}

uint64_t pd_ptn_labels_bytes(const polyad_tensor *tensor) {
  if (tensor == NULL) return 0;
  uint64_t bytes = 0;
  bool some = false;
  for (int n = 0; n < tensor->order; ++n) {
    struct entry entry = entry_of(tensor, n);
    some = some || entry.named || entry.count != 0;
    bytes += sizeof entry + padded(entry.name_bytes) + padded(entry.text_bytes);
    if (entry.count != 0) bytes += 8 * (entry.count + 1);
  }
  return some ? bytes : 0;
}

static char *ptn_labels_put(char *out, const void *from, uint64_t bytes) {
  if (bytes != 0) memcpy(out, from, (size_t)bytes);
  memset(out + bytes, 0, (size_t)(padded(bytes) - bytes));
  return out + padded(bytes);
}

void pd_ptn_labels_encode(const polyad_tensor *tensor, void *out) {
  char *at = out;
  for (int n = 0; n < tensor->order; ++n) {
    struct entry entry = entry_of(tensor, n);
    at = ptn_labels_put(at, &entry, sizeof entry);
  }
  for (int n = 0; n < tensor->order; ++n) {
    struct entry entry = entry_of(tensor, n);
    at = ptn_labels_put(at, tensor->mode_name[n], entry.name_bytes);
    if (entry.count == 0) continue;
    at = ptn_labels_put(at, tensor->labels[n].start, 8 * (entry.count + 1));
    at = ptn_labels_put(at, tensor->labels[n].text, entry.text_bytes);
  }
}

/* ---- reading -------------------------------------------------------------------------------- */

struct reader {
  polyad_context *context;
  const char *path;
  uint64_t offset; /* of the section in the file */
  const char *section;
  uint64_t bytes, at;
};

static polyad_status ptn_labels_fail(const struct reader *reader, int mode, const char *what) {
  return pd_fail_at(reader->context, POLYAD_PARSE, reader->path, 0, 0,
                    "labels of mode %d, near byte %" PRIu64 ": %s", mode + 1,
                    reader->offset + reader->at, what);
}

/* The next `bytes` bytes, or NULL when the section ends before or the padding is not zero. */
static const char *ptn_labels_take(struct reader *reader, uint64_t bytes) {
  if (bytes > reader->bytes - reader->at || padded(bytes) > reader->bytes - reader->at) return NULL;
  const char *from = reader->section + reader->at;
  for (uint64_t i = bytes; i < padded(bytes); ++i)
    if (from[i] != 0) return NULL;
  reader->at += padded(bytes);
  return from;
}

static polyad_status take_name(struct reader *reader, polyad_tensor *tensor, int mode,
                               const struct entry *entry) {
  if (entry->named > 1 || (entry->named == 0 && entry->name_bytes != 0))
    return ptn_labels_fail(reader, mode, "the name is marked wrongly; expected 0 or 1");
  const char *name = ptn_labels_take(reader, entry->name_bytes);
  if (name == NULL) return ptn_labels_fail(reader, mode, "the name passes the end of the section");
  if (memchr(name, 0, (size_t)entry->name_bytes) != NULL)
    return ptn_labels_fail(reader, mode, "the name contains a NUL byte");
  if (entry->named == 0) return POLYAD_OK;
  PD_TRY(PD_NEW(reader->context, entry->name_bytes + 1, &tensor->mode_name[mode]));
  memcpy(tensor->mode_name[mode], name, (size_t)entry->name_bytes);
  tensor->mode_name[mode][entry->name_bytes] = '\0';
  return POLYAD_OK;
}

static polyad_status check_strings(const struct reader *reader, int mode, const struct entry *entry,
                                   const struct pd_labels *labels) {
  if (labels->start[0] != 0 || labels->start[entry->count] != entry->text_bytes)
    return ptn_labels_fail(reader, mode, "the offsets do not cover the text");
  for (uint64_t i = 0; i < entry->count; ++i) {
    if (labels->start[i + 1] <= labels->start[i] || labels->start[i + 1] > entry->text_bytes)
      return ptn_labels_fail(reader, mode,
                             "an offset is past the end of the text or not ascending");
    if (labels->text[labels->start[i + 1] - 1] != '\0')
      return ptn_labels_fail(reader, mode, "a label has no NUL after it");
  }
  return POLYAD_OK;
}

static polyad_status take_strings(struct reader *reader, polyad_tensor *tensor, int mode,
                                  const struct entry *entry) {
  if (entry->count == 0)
    return entry->text_bytes == 0 ? POLYAD_OK
                                  : ptn_labels_fail(reader, mode, "text without labels");
  if (entry->count != tensor->dims[mode]) {
    return pd_fail_at(reader->context, POLYAD_PARSE, reader->path, 0, 0,
                      "%" PRIu64 " labels of mode %d; expected %" PRIu64 ", its length",
                      entry->count, mode + 1, tensor->dims[mode]);
  }
  if (entry->count >= reader->bytes / 8)
    return ptn_labels_fail(reader, mode, "the offsets pass the end of the section");
  const char *start = ptn_labels_take(reader, 8 * (entry->count + 1));
  const char *text = start == NULL ? NULL : ptn_labels_take(reader, entry->text_bytes);
  if (text == NULL) return ptn_labels_fail(reader, mode, "the text passes the end of the section");
  struct pd_labels labels = {.count = entry->count};
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(PD_NEW(reader->context, entry->count + 1, &labels.start));
  PD_TRY_CLEANUP(PD_NEW(reader->context, entry->text_bytes, &labels.text));
  memcpy(labels.start, start, (size_t)(8 * (entry->count + 1)));
  memcpy(labels.text, text, (size_t)entry->text_bytes);
  PD_TRY_CLEANUP(check_strings(reader, mode, entry, &labels));
  pd_tensor_take_labels(tensor, mode, &labels);

cleanup:
  PD_FREE(reader->context, labels.start, labels.text);
  return status;
}

polyad_status pd_ptn_labels_decode(polyad_context *context, const char *path, uint64_t offset,
                                   const void *section, uint64_t bytes, polyad_tensor *tensor) {
  struct reader reader = {context, path, offset, section, bytes, 0};
  const char *entries = ptn_labels_take(&reader, (uint64_t)tensor->order * sizeof(struct entry));
  if (entries == NULL) return ptn_labels_fail(&reader, 0, "the section is too short for its table");
  for (int n = 0; n < tensor->order; ++n) {
    struct entry entry;
    memcpy(&entry, entries + (size_t)n * sizeof entry, sizeof entry);
    PD_TRY(take_name(&reader, tensor, n, &entry));
    PD_TRY(take_strings(&reader, tensor, n, &entry));
  }
  if (reader.at != bytes)
    return ptn_labels_fail(&reader, tensor->order - 1, "surplus bytes follow");
  return POLYAD_OK;
}
