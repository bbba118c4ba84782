/* Where tests write what they reached, for docs/reliability.md: a small JSON file for each test, in
 * the folder that the environment variable POLYAD_FIGURES names; without it nothing is written. */
#ifndef PD_TEST_FIGURES_H
#define PD_TEST_FIGURES_H

#include <stdio.h>
#include <stdlib.h>

struct figure {
  const char *name;
  long value;
};

static inline void record_figures(const char *test, int count, const struct figure *figures) {
  const char *folder = getenv("POLYAD_FIGURES");
  char path[4096];
  if (folder == NULL) return;
  snprintf(path, sizeof path, "%s/%s.json", folder, test);
  FILE *file = fopen(path, "w");
  if (file == NULL) return;
  fputs("{\n", file);
  for (int k = 0; k < count; ++k)
    fprintf(file, "  \"%s\": %ld%s\n", figures[k].name, figures[k].value, k + 1 < count ? "," : "");
  fputs("}\n", file);
  fclose(file);
}

#endif
