/* Parsing a block of whole lines of FROSTT text in parallel. */
#ifndef PD_TNS_BLOCK_H
#define PD_TNS_BLOCK_H

#include "io/coordinates.h"
#include "io/tns_line.h"

/** What a block of lines held. */
struct pd_tns_result {
  uint64_t lines;      /* line ends in the block */
  uint64_t error_line; /* of the first error, from 1 within the block; 0: none */
  struct pd_tns_error error;
  uint64_t underflows;
};

/** Parses [text, end), which begins at a line and ends after a line end (or at the end of the
 *  file: `final`), and appends the nonzeros. form->order must be known. The first error in the
 *  order of the file is reported, whatever the number of threads. */
polyad_status pd_tns_parse_block(const struct pd_tns_form *form, const char *text, const char *end,
                                 bool final, struct pd_coordinates *coordinates,
                                 struct pd_tns_result *result);

#endif
