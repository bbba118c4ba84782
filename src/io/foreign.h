/* Files of other programs, recognised by their first bytes, so that errors can name them. */
#ifndef PD_FOREIGN_H
#define PD_FOREIGN_H

#include <stddef.h>

/** What a file that begins with these bytes is, such as "this is an HDF5 file", or NULL. */
const char *pd_foreign_format(const void *bytes, size_t length);

#endif
