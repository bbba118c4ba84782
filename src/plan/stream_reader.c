#include "plan/stream_reader.h"
#include <signal.h>

static int stream_reader_fetch(struct pd_stream_reader *reader, uint64_t k) {
  const struct pd_stream_chunk *chunk = &reader->stream->chunk[reader->mode][k];
  return pd_spill_fetch(&reader->stream->spill, chunk->offset, chunk->bytes, reader->buffer[k % 2]);
}

static void *read_ahead(void *user) {
  struct pd_stream_reader *reader = user;
  pthread_mutex_lock(&reader->lock);
  for (uint64_t k = 0; k < reader->stream->chunks; ++k) {
    while (!reader->stop && k - reader->used >= 2)
      pthread_cond_wait(&reader->changed, &reader->lock);
    if (reader->stop) break;
    pthread_mutex_unlock(&reader->lock);
    int error = stream_reader_fetch(reader, k);
    pthread_mutex_lock(&reader->lock);
    reader->error = error;
    if (error == 0) ++reader->filled;
    pthread_cond_signal(&reader->changed);
    if (error != 0) break;
  }
  pthread_mutex_unlock(&reader->lock);
  return NULL;
}

/* Signals are for the program's own threads. */
static bool stream_reader_start(struct pd_stream_reader *reader) {
  sigset_t all, before;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
  bool started = pthread_create(&reader->thread, NULL, read_ahead, reader) == 0;
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}

void pd_stream_reader_open(struct pd_stream_reader *reader, const struct pd_stream *stream,
                           int mode, char *const *buffer) {
  *reader = (struct pd_stream_reader){.stream = stream, .mode = mode, .buffer = buffer};
  (void)pthread_mutex_init(&reader->lock, NULL);
  (void)pthread_cond_init(&reader->changed, NULL);
  reader->threaded = stream->kept == NULL && stream_reader_start(reader);
}

/* The error number of reading chunk k, 0 when it is there. */
static int await(struct pd_stream_reader *reader, uint64_t k) {
  if (!reader->threaded) return stream_reader_fetch(reader, k);
  pthread_mutex_lock(&reader->lock);
  reader->used = k;
  pthread_cond_signal(&reader->changed);
  while (reader->filled <= k && reader->error == 0)
    pthread_cond_wait(&reader->changed, &reader->lock);
  int error = reader->filled > k ? 0 : reader->error;
  pthread_mutex_unlock(&reader->lock);
  return error;
}

polyad_status pd_stream_reader_next(polyad_context *context, struct pd_stream_reader *reader,
                                    uint64_t k, const char **at) {
  const struct pd_stream *stream = reader->stream;
  if (stream->kept != NULL) {
    *at = stream->kept + stream->chunk[reader->mode][k].offset;
    return POLYAD_OK;
  }
  int error = await(reader, k);
  *at = reader->buffer[k % 2];
  return error == 0 ? POLYAD_OK : pd_spill_fail(context, &stream->spill, error);
}

void pd_stream_reader_close(struct pd_stream_reader *reader) {
  if (reader->threaded) {
    pthread_mutex_lock(&reader->lock);
    reader->stop = true;
    pthread_cond_signal(&reader->changed);
    pthread_mutex_unlock(&reader->lock);
    (void)pthread_join(reader->thread, NULL);
  }
  (void)pthread_cond_destroy(&reader->changed);
  (void)pthread_mutex_destroy(&reader->lock);
}
