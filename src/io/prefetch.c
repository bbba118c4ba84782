#include "io/input.h"
#include <pthread.h>
#include <string.h>

struct block {
  unsigned char *memory; /* headroom, then data */
  size_t size;
  polyad_status status;
  bool full;
};

struct pd_prefetch {
  polyad_context *context;
  struct pd_input *input;
  size_t block_size, headroom;
  struct block block[2];
  int next;  /* block that the consumer takes next */
  bool held; /* the consumer has the other one */
  bool stop, started;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
};

static void *read_ahead(void *user) {
  struct pd_prefetch *p = user;
  int state;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  for (int which = 0;; which = 1 - which) {
    struct block *block = &p->block[which];
    pthread_mutex_lock(&p->mutex);
    while (block->full && !p->stop)
      pthread_cond_wait(&p->changed, &p->mutex);
    bool stop = p->stop;
    pthread_mutex_unlock(&p->mutex);
    if (stop) break;
    size_t got = 0;
    /* A pipe may never deliver what is read ahead when the parser has given up already. */
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    polyad_status status =
        pd_input_read(p->input, block->memory + p->headroom, p->block_size, &got);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_mutex_lock(&p->mutex);
    block->size = got;
    block->status = status;
    block->full = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->mutex);
    if (got == 0) break; /* the end, or an error */
  }
  return NULL;
}

polyad_status pd_prefetch_create(polyad_context *context, struct pd_input *input, size_t block,
                                 size_t headroom, struct pd_prefetch **out) {
  struct pd_prefetch *p = NULL;
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &p));
  p->context = context;
  p->input = input;
  p->block_size = block;
  p->headroom = headroom;
  polyad_status status = POLYAD_OK;
  for (int k = 0; k < 2 && status == POLYAD_OK; ++k)
    status = PD_NEW(context, headroom + block, &p->block[k].memory);
  if (status == POLYAD_OK) {
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->changed, NULL);
    p->started = pthread_create(&p->thread, NULL, read_ahead, p) == 0;
    if (!p->started) {
      pthread_cond_destroy(&p->changed);
      pthread_mutex_destroy(&p->mutex);
      status = pd_fail(context, POLYAD_OUT_OF_MEMORY, "cannot start a thread to read ahead");
    }
  }
  if (status != POLYAD_OK) {
    pd_prefetch_destroy(p);
    return status;
  }
  *out = p;
  return POLYAD_OK;
}

polyad_status pd_prefetch_next(struct pd_prefetch *p, unsigned char **data, size_t *size) {
  pthread_mutex_lock(&p->mutex);
  if (p->held) { /* hands the block before back to the reader */
    p->block[1 - p->next].full = false;
    pthread_cond_broadcast(&p->changed);
  }
  struct block *block = &p->block[p->next];
  while (!block->full)
    pthread_cond_wait(&p->changed, &p->mutex);
  pthread_mutex_unlock(&p->mutex);
  *data = block->memory + p->headroom;
  *size = block->size;
  if (block->size == 0) { /* the reader has ended: this block stays as it is */
    p->held = false;
    return block->status;
  }
  p->held = true;
  p->next = 1 - p->next;
  return POLYAD_OK;
}

void pd_prefetch_destroy(struct pd_prefetch *p) {
  if (p == NULL) return;
  if (p->started) {
    pthread_mutex_lock(&p->mutex);
    p->stop = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->mutex);
    pthread_cancel(p->thread);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->mutex);
  }
  for (int k = 0; k < 2; ++k)
    pd_free(p->context, p->block[k].memory);
  pd_free(p->context, p);
}
