/* Writes a field of delimited text (RFC 4180): quoted where it must be. */
#ifndef PD_DELIMITED_FIELD_H
#define PD_DELIMITED_FIELD_H

#include "io/atomic_file.h"

/** Fails for a NUL byte, which text cannot hold; `path` is named then. */
polyad_status pd_field_write(polyad_context *context, struct pd_output *output, const char *path,
                             char delimiter, const char *text, size_t length);

#endif
