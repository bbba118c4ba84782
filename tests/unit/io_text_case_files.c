/* Writes the hostile texts into a folder, and a list of them: id, file, verdict, line. */
#include "io_text_cases.h"

#include <stdbool.h>
#include <stdio.h>

int main(int count, char **arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: %s FOLDER\n", arguments[0]);
    return 2;
  }
  for (size_t k = 0; k < text_case_count; ++k) {
    const struct text_case *one = &text_cases[k];
    struct text_buffer bytes;
    char path[4096];
    text_case_bytes(one, &bytes);
    snprintf(path, sizeof path, "%s/%s", arguments[1], one->file);
    FILE *file = fopen(path, "wb");
    bool written =
        file != NULL && (bytes.size == 0 || fwrite(bytes.bytes, 1, bytes.size, file) == bytes.size);
    if (file == NULL || fclose(file) != 0 || !written) {
      perror(path);
      return 1;
    }
    printf("%s %s %s %llu\n", one->id, one->file, one->says == NULL ? "accept" : "reject",
           (unsigned long long)one->line);
    text_free(&bytes);
  }
  return 0;
}
