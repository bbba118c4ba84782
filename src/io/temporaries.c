#include "io/temporaries.h"
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pd_temporary *first;

void pd_temporary_add(struct pd_temporary *temporary, const char *path) {
  pthread_mutex_lock(&lock);
  *temporary =
      (struct pd_temporary){.path = path, .process = (long)getpid(), .next = first, .link = &first};
  if (first != NULL) first->link = &temporary->next;
  first = temporary;
  pthread_mutex_unlock(&lock);
}

void pd_temporary_remove(struct pd_temporary *temporary) {
  pthread_mutex_lock(&lock);
  if (temporary->link != NULL) {
    *temporary->link = temporary->next;
    if (temporary->next != NULL) temporary->next->link = temporary->link;
    temporary->link = NULL;
  }
  pthread_mutex_unlock(&lock);
}

/* Runs in exit(). Nothing is freed: threads that still write may look at their outputs. Where one
 * of them is at work on the list just now, the files stay. */
__attribute__((destructor)) static void remove_all(void) {
  if (pthread_mutex_trylock(&lock) != 0) return;
  for (const struct pd_temporary *at = first; at != NULL; at = at->next)
    if (at->process == (long)getpid()) (void)unlink(at->path);
  pthread_mutex_unlock(&lock);
}
