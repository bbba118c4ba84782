/* Compares storages of any format, array by array. */
#ifndef SAME_STORAGE_H
#define SAME_STORAGE_H

#include "formats/storage.h"

/* Fails the test unless both have the same arrays, bit for bit, of those that move to devices, and
 * say the same of themselves. */
void assert_same_storage(const char *name, const struct polyad_format *format, const void *found,
                         const void *wanted);

#endif
