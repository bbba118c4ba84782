#define _XOPEN_SOURCE 700 /* nftw() */
#include "replay_place.h"
#include "text.h"
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *cli_replay_place(void) {
  static const char name[] = "polyad-replay-XXXXXX";
  const char *parent = getenv("TMPDIR");
  if (parent == NULL || parent[0] != '/') parent = "/tmp";
  size_t bytes = strlen(parent) + sizeof name + 1;
  char *directory = malloc(bytes);
  if (directory == NULL) {
    (void)cli_failure("out of memory");
    return NULL;
  }
  snprintf(directory, bytes, "%s/%s", parent, name);
  if (mkdtemp(directory) != NULL) return directory;
  (void)cli_failure("no directory for what the run writes can be made in %s ($TMPDIR, else /tmp): "
                    "%s",
                    parent, strerror(errno));
  free(directory);
  return NULL;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where) {
  (void)about;
  (void)kind;
  (void)where;
  (void)remove(path);
  return 0; /* whatever else can be removed is */
}

void cli_replay_place_remove(char *directory) {
  enum { OPEN_MOST = 8 };
  if (directory != NULL) (void)nftw(directory, remove_one, OPEN_MOST, FTW_DEPTH | FTW_PHYS);
  free(directory);
}
