/* The components of a model as a table for people. */
#ifndef CLI_COMPONENTS_H
#define CLI_COMPONENTS_H

#include <polyad/polyad.h>

/** Prints each component's weight and its `top` strongest entries per mode, by label where
 *  `outline` (may be NULL) has labels. */
void cli_print_components(const polyad_ktensor *model, const polyad_tensor *outline, int top);

/** Writes a model with the names and labels of `outline` (may be NULL): a file, or a directory with
 *  the `top` strongest entries of each component (0: 10). Nothing where `path` is NULL. */
polyad_status cli_write_ktensor(polyad_context *context, const polyad_ktensor *model,
                                const polyad_tensor *outline, uint64_t top, const char *path);

#endif
