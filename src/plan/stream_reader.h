/* Reads the chunks of one mode in turn into two buffers, by a thread of its own that is one chunk
 * ahead. */
#ifndef PD_STREAM_READER_H
#define PD_STREAM_READER_H

#include "plan/stream.h"
#include <pthread.h>

struct pd_stream_reader {
  const struct pd_stream *stream;
  int mode;
  char *const *buffer; /* two */
  pthread_t thread;
  bool threaded; /* else chunks are read when they are asked for */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint64_t filled, used; /* chunks that were read, and that are no longer needed */
  bool stop;
  int error; /* of reading chunk `filled` */
};

/** Starts reading; `buffer` are two of stream->largest bytes, which are not used where the lists
 * are kept in memory. */
void pd_stream_reader_open(struct pd_stream_reader *reader, const struct pd_stream *stream,
                           int mode, char *const *buffer);
/** Waits for chunk `k`, 0 first and then each next one, and tells where its arrays begin; the chunk
 *  before is given back. */
polyad_status pd_stream_reader_next(polyad_context *context, struct pd_stream_reader *reader,
                                    uint64_t k, const char **at);
void pd_stream_reader_close(struct pd_stream_reader *reader);

#endif
