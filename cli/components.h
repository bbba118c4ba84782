/* The components of a model as a table for people. */
#ifndef CLI_COMPONENTS_H
#define CLI_COMPONENTS_H

#include <polyad/polyad.h>

/** Prints each component's weight and its `top` strongest entries per mode, by label where
 *  `outline` (may be NULL) has labels. */
void cli_print_components(const polyad_ktensor *model, const polyad_tensor *outline, int top);

#endif
