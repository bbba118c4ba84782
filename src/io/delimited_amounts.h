/* Columns of amounts that nobody named. */
#ifndef PD_DELIMITED_AMOUNTS_H
#define PD_DELIMITED_AMOUNTS_H

#include "io/delimited_dictionary.h"
#include <polyad/io.h>

/** Tells of modes whose labels are amounts, where neither modes nor the value were named: such a
 *  column has one index for each amount, which is seldom meant. `names` (NULL entries: none) and
 *  sorted `modes` are those of a table without a column of values. */
void pd_warn_of_amounts(polyad_context *context, const char *path,
                        const polyad_read_options *options, int order, char *const *names,
                        const struct pd_dictionary *modes);

#endif
