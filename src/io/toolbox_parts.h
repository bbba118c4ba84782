/* Parts of which the models in Tensor Toolbox text consist. */
#ifndef PD_TOOLBOX_PARTS_H
#define PD_TOOLBOX_PARTS_H

#include "io/atomic_file.h"
#include "io/scanner.h"
#include <polyad/model.h>
#include <polyad/ttensor.h>

/** Factors of more cells than this cannot be meant; it keeps products of sizes in 64 bits. */
#define PD_TOOLBOX_CELLS (UINT64_C(1) << 56)

/** Reads `count` numbers into a new array. It grows with what has come: a header's sizes are not
 *  believed before the numbers are there. */
polyad_status pd_toolbox_read_values(struct pd_scanner *scanner, const char *what, uint64_t count,
                                     polyad_type type, void **values);
/** The header of a matrix; where `rows_expected` is not 0, both sizes must be as expected. */
polyad_status pd_toolbox_read_matrix_header(struct pd_scanner *scanner, uint64_t rows_expected,
                                            uint64_t columns_expected, uint64_t *rows,
                                            uint64_t *columns);

polyad_status pd_toolbox_read_ttensor(struct pd_scanner *scanner, polyad_type type,
                                      polyad_ttensor **ttensor);

/** Writes a whole ttensor. */
polyad_status pd_toolbox_write_ttensor(polyad_context *context, struct pd_output *output,
                                       const polyad_ttensor *ttensor);
/** Writes `count` sizes as a line. */
polyad_status pd_toolbox_write_sizes(struct pd_output *output, int count, const uint64_t *sizes);
/** Writes a matrix with its header. */
polyad_status pd_toolbox_write_matrix(polyad_context *context, struct pd_output *output,
                                      uint64_t rows, uint64_t columns, polyad_type type,
                                      const void *values);

#endif
