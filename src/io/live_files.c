#include "io/live_files.h"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pd_live_file *first;

void pd_live_file_add(struct pd_live_file *file, const char *path) {
  pthread_mutex_lock(&lock);
  *file =
      (struct pd_live_file){.path = path, .process = (long)getpid(), .next = first, .link = &first};
  if (first != NULL) first->link = &file->next;
  first = file;
  pthread_mutex_unlock(&lock);
}

void pd_live_file_remove(struct pd_live_file *file) {
  pthread_mutex_lock(&lock);
  if (file->link != NULL) {
    *file->link = file->next;
    if (file->next != NULL) file->next->link = file->link;
    file->link = NULL;
  }
  pthread_mutex_unlock(&lock);
}

/* Runs in exit(). Nothing is freed: threads that still write may look at their outputs. Where one
 * of them is at work on the list just now, the files stay. */
__attribute__((destructor)) static void remove_all(void) {
  if (pthread_mutex_trylock(&lock) != 0) return;
  for (const struct pd_live_file *at = first; at != NULL; at = at->next)
    if (at->process == (long)getpid()) (void)remove(at->path);
  pthread_mutex_unlock(&lock);
}
