/* Label files: the first byte is the number of labels asked for, the rest is the file; and names of
 * label files: the rest is one. */
#include "fuzz_input.h"

#include "io/labels_lines.h"
#include "io/labels_path.h"
#include <stdlib.h>
#include <string.h>

/* Lines as the reader should see them, found in another way: from the end of each. */
static void require_lines(const struct pd_labels *labels, const uint8_t *data, size_t size) {
  uint64_t found = 0;
  if (size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) {
    data += 3;
    size -= 3;
  }
  for (size_t begin = 0; begin < size; ++found) {
    size_t end = begin;
    while (end < size && data[end] != '\n')
      ++end;
    size_t length = end - begin;
    if (length > 0 && data[end - 1] == '\r') --length;
    fuzz_require(found < labels->count, "no more labels than lines");
    const char *label = labels->text + labels->start[found];
    fuzz_require(labels->start[found + 1] - labels->start[found] == length + 1 &&
                     memcmp(label, data + begin, length) == 0 && label[length] == '\0',
                 "the label is the line");
    begin = end + 1;
  }
  fuzz_require(found == labels->count, "as many labels as lines");
}

/* Bytes with which compressed data begins. */
static int is_packed(const uint8_t *data, size_t size) {
  return size >= 4 &&
         (memcmp(data, "\x1f\x8b", 2) == 0 || memcmp(data, "\x28\xb5\x2f\xfd", 4) == 0 ||
          (data[0] >= 0x50 && data[0] <= 0x5f && memcmp(data + 1, "\x2a\x4d\x18", 3) == 0));
}

static void try_name(const uint8_t *data, size_t size) {
  uint64_t mode, again;
  char name[PD_LABELS_NAME_BYTES], file[PD_LABELS_NAME_BYTES], twice[PD_LABELS_NAME_BYTES];
  char *text = malloc(size + 1);
  fuzz_require(text != NULL, "memory");
  if (size > 0) memcpy(text, data, size);
  text[size] = '\0';
  if (pd_labels_parse_name(text, &mode, name) && mode >= 1 && mode <= POLYAD_MAX_ORDER) {
    pd_labels_file_name(file, (int)mode, name);
    fuzz_require(strchr(file, '/') == NULL, "a name leads nowhere else");
    fuzz_require(pd_labels_parse_name(file, &again, twice) && again == mode, "the same mode");
  }
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  uint64_t count = fuzz_take_byte(&data, &size);
  if (is_packed(data, size)) return -1; /* target stream has these: zstd's windows take long */
  struct pd_labels labels = {0};
  polyad_context *context = fuzz_begin(1);
  polyad_status status = pd_labels_read_lines(context, fuzz_file(data, size), 1, count, &labels);
  if (status != POLYAD_OK)
    fuzz_check_failure(context, status);
  else
    require_lines(&labels, data, size);
  pd_free(context, labels.start);
  pd_free(context, labels.text);
  fuzz_end(context);
  try_name(data, size);
  return 0;
}
