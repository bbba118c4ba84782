#include "plan/stream_reader.h"
#include <signal.h>

enum { PART_LEAST = 1 << 20 };

/* Part `part` of chunk k, of `parts`. */
static int stream_reader_fetch(const struct pd_stream_reader *reader, uint64_t k, int part,
                               int parts) {
  const struct pd_stream_chunk *chunk = &reader->stream->chunk[reader->mode][k];
  uint64_t begin = pd_part_begin(chunk->bytes, part, parts);
  uint64_t bytes = pd_part_begin(chunk->bytes, part + 1, parts) - begin;
  if (bytes == 0) return 0;
  return pd_spill_fetch(&reader->stream->spill, chunk->offset + begin, bytes,
                        reader->buffer[k % 2] + begin);
}

/* A thread that has read its part of a chunk goes on with the next one while others are at it, but
 * never further: the buffer of the one behind that is still in use. */
static void *read_ahead(void *user) {
  struct pd_stream_reader *reader = user;
  pthread_mutex_lock(&reader->lock);
  int part = reader->next++;
  for (uint64_t k = 0; k < reader->stream->chunks; ++k) {
    while (!reader->stop && k - reader->used >= 2)
      pthread_cond_wait(&reader->changed, &reader->lock);
    if (reader->stop || reader->error != 0) break;
    pthread_mutex_unlock(&reader->lock);
    int error = stream_reader_fetch(reader, k, part, reader->parts);
    pthread_mutex_lock(&reader->lock);
    if (error != 0) reader->error = error;
    if (error == 0 && ++reader->done[k % 2] == reader->parts) {
      reader->done[k % 2] = 0;
      ++reader->filled;
    }
    pthread_cond_broadcast(&reader->changed);
    if (error != 0) break;
  }
  pthread_mutex_unlock(&reader->lock);
  return NULL;
}

static void stream_reader_stop(struct pd_stream_reader *reader) {
  pthread_mutex_lock(&reader->lock);
  reader->stop = true;
  pthread_cond_broadcast(&reader->changed);
  pthread_mutex_unlock(&reader->lock);
  while (reader->threads > 0)
    (void)pthread_join(reader->thread[--reader->threads], NULL);
}

/* Signals are for the program's own threads. All parts have a thread, or chunks are read when they
 * are asked for. */
static void stream_reader_start(struct pd_stream_reader *reader) {
  sigset_t all, before;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return;
  bool started = true;
  for (int t = 0; t < reader->parts && started; ++t) {
    started = pthread_create(&reader->thread[t], NULL, read_ahead, reader) == 0;
    if (started) ++reader->threads;
  }
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!started) stream_reader_stop(reader);
}

/* While a GPU computes, the host's threads have nothing else to do. */
static int stream_reader_parts(const struct pd_stream *stream) {
  int threads = polyad_threads(stream->file.context);
  int parts = stream->device->functions->host_memory ? 1 + threads / 8 : threads;
  uint64_t most = stream->largest / PART_LEAST + 1;
  if (parts > PD_STREAM_READERS) parts = PD_STREAM_READERS;
  return (uint64_t)parts < most ? parts : (int)most;
}

void pd_stream_reader_open(struct pd_stream_reader *reader, const struct pd_stream *stream,
                           int mode, char *const *buffer) {
  *reader = (struct pd_stream_reader){.stream = stream, .mode = mode, .buffer = buffer};
  (void)pthread_mutex_init(&reader->lock, NULL);
  (void)pthread_cond_init(&reader->changed, NULL);
  reader->parts = stream_reader_parts(stream);
  if (stream->kept == NULL) stream_reader_start(reader);
}

/* The error number of reading chunk k, 0 when it is there. */
static int await(struct pd_stream_reader *reader, uint64_t k) {
  if (reader->threads == 0) return stream_reader_fetch(reader, k, 0, 1);
  pthread_mutex_lock(&reader->lock);
  reader->used = k;
  pthread_cond_broadcast(&reader->changed);
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
  stream_reader_stop(reader);
  (void)pthread_cond_destroy(&reader->changed);
  (void)pthread_mutex_destroy(&reader->lock);
}
