/* Allocations and threads that fail, as fault_shim.h says: those of the program and of every
 * library in it. Calls before main() are the loader's and the libraries' own start; they succeed.
 */
#define _GNU_SOURCE
#include "fault_shim.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The C library's own functions under their other names: asking dlsym() would allocate. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *pointer, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static bool wanted;

/* LD_PRELOAD's libraries start last, just before main(). */
__attribute__((constructor)) static void begin(void) {
  const char *call = getenv("FAULT_CALL");
  wanted = call != NULL && strcmp(call, "memory") == 0;
}

static bool refused(void) {
  if (!wanted || !fault_strikes("memory")) return false;
  errno = ENOMEM;
  return true;
}

void *malloc(size_t size) { return refused() ? NULL : __libc_malloc(size); }

void *calloc(size_t count, size_t size) { return refused() ? NULL : __libc_calloc(count, size); }

void *realloc(void *pointer, size_t size) {
  return refused() ? NULL : __libc_realloc(pointer, size);
}

void *memalign(size_t alignment, size_t size) {
  return refused() ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **pointer, size_t alignment, size_t size) {
  void *got = memalign(alignment, size);
  if (got == NULL) return ENOMEM;
  *pointer = got;
  return 0;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                   void *user) {
  typedef int creating(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  creating *real;
  *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
  return fault_strikes("thread") ? EAGAIN : real(thread, attributes, body, user);
}
