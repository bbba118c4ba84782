/* Runs a fuzz target over the files of folders: the corpus that is kept, and the inputs that once
 * broke the target, where there are any. */
#include "fuzz_input.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void replay(const char *path) {
  FILE *file = fopen(path, "rb");
  fuzz_require(file != NULL, path);
  static uint8_t bytes[1 << 20];
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  uint8_t *exact = malloc(size + (size == 0)); /* so that a sanitizer sees reads past the end */
  fuzz_require(exact != NULL, "memory");
  memcpy(exact, bytes, size);
  (void)LLVMFuzzerTestOneInput(exact, size);
  free(exact);
}

int main(int count, char **arguments) {
  int files = 0;
  for (int k = 1; k < count; ++k) {
    DIR *folder = opendir(arguments[k]);
    if (folder == NULL && errno == ENOENT) continue;
    fuzz_require(folder != NULL, arguments[k]);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
      char path[4096];
      if (entry->d_name[0] == '.') continue;
      snprintf(path, sizeof path, "%s/%s", arguments[k], entry->d_name);
      replay(path);
      ++files;
    }
    closedir(folder);
  }
  printf("%d inputs\n", files);
  return files == 0;
}
