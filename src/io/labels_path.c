#include "io/labels_path.h"
#include "io/atomic_file.h"
#include <stdio.h>
#include <string.h>

bool pd_labels_directory(char out[PD_LABELS_PATH_BYTES], const char *path) {
  size_t length = strlen(path);
  enum pd_compression compression = pd_compression_of(path);
  if (compression != PD_PLAIN) length -= compression == PD_GZIP ? 3 : 4;
  size_t stem = length;
  while (stem > 0 && path[stem - 1] != '.' && path[stem - 1] != '/')
    --stem;
  /* A name that begins with its only dot has no extension. */
  if (stem > 1 && path[stem - 1] == '.' && path[stem - 2] != '/') length = stem - 1;
  if (length + sizeof ".labels" > PD_LABELS_PATH_BYTES) return false;
  memcpy(out, path, length);
  memcpy(out + length, ".labels", sizeof ".labels");
  return true;
}

bool pd_labels_model_directory(char out[PD_LABELS_PATH_BYTES], const char *path) {
  int length = snprintf(out, PD_LABELS_PATH_BYTES, "%s.labels", path);
  return length > 0 && length < PD_LABELS_PATH_BYTES;
}

bool pd_labels_parse_name(const char *file, uint64_t *mode, char name[PD_LABELS_NAME_BYTES]) {
  size_t length = strlen(file), at = sizeof "mode-" - 1;
  enum pd_compression compression = pd_compression_of(file);
  if (compression != PD_PLAIN) length -= compression == PD_GZIP ? 3 : 4;
  if (length < at + 1 + 4 || length >= PD_LABELS_NAME_BYTES || memcmp(file, "mode-", at) != 0 ||
      memcmp(file + length - 4, ".map", 4) != 0)
    return false;
  length -= 4;
  size_t first = at;
  *mode = 0;
  for (; at < length && file[at] >= '0' && file[at] <= '9'; ++at)
    if (!pd_mul(*mode, 10, mode) || !pd_add(*mode, (uint64_t)(file[at] - '0'), mode)) {
      *mode = UINT64_MAX;
      break;
    }
  if (at == first || (at < length && file[at] != '-' && *mode != UINT64_MAX)) return false;
  if (at < length) ++at;
  memcpy(name, file + at, length - at);
  name[length - at] = '\0';
  return true;
}

void pd_labels_file_name(char out[PD_LABELS_NAME_BYTES], int mode, const char *name) {
  enum { MOST = 100 };
  char kept[MOST + 1];
  size_t length = 0;
  for (; name != NULL && name[length] != '\0' && length < MOST; ++length) {
    char c = name[length];
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    kept[length] = plain || c == '-' ? c : '_';
  }
  kept[length] = '\0';
  snprintf(out, PD_LABELS_NAME_BYTES, length > 0 ? "mode-%d-%s.map" : "mode-%d%s.map", mode, kept);
}
