/* Where a .ptn file is read from: a regular file at any place, by several threads at once, or a
 * pipe from its start to its end. */
#ifndef PD_PTN_SOURCE_H
#define PD_PTN_SOURCE_H

#include "io/input.h"

struct pd_ptn_source {
  const char *path;
  int file;               /* of a regular file */
  struct pd_input *input; /* of a pipe, else NULL */
  bool close;             /* opened here */
  bool seekable;          /* a regular file */
  uint64_t size;          /* of a regular file; UINT64_MAX: not known */
};

polyad_status pd_ptn_source_open(polyad_context *context, const char *path,
                                 struct pd_ptn_source *source);
/** An input that was opened already, and of which nothing was read. */
struct pd_ptn_source pd_ptn_source_of_input(struct pd_input *input);
void pd_ptn_source_close(struct pd_ptn_source *source);

/** Reads up to `bytes` at `offset`; in a pipe that must be the place reached. Returns what was
 *  read (less only at the end of the file), or -1 (with errno set for regular files). Regular
 *  files: thread-safe. */
int64_t pd_ptn_source_read(struct pd_ptn_source *source, uint64_t offset, uint64_t bytes,
                           void *buffer);

/** The same; an error and an early end are failures that name the place. */
polyad_status pd_ptn_source_read_all(polyad_context *context, struct pd_ptn_source *source,
                                     uint64_t offset, uint64_t bytes, void *buffer,
                                     uint64_t declared);

/** Reads `bytes` of a pipe into a new array that grows with what has come, so that a lie about
 *  the size costs no memory. Regular files, whose size is proved: one array at once. */
polyad_status pd_ptn_source_load(polyad_context *context, struct pd_ptn_source *source,
                                 uint64_t offset, uint64_t bytes, uint64_t declared, void **array);

/** Records what a short read (`got` of `bytes` at `offset`, or -1 and `error`) means. */
polyad_status pd_ptn_source_fail(polyad_context *context, const struct pd_ptn_source *source,
                                 int64_t got, uint64_t offset, int error, uint64_t declared);

#endif
