/* Parsing a block of whole lines of FROSTT text in parallel. */
#ifndef PD_TNS_BLOCK_H
#define PD_TNS_BLOCK_H

#include "io/coordinates.h"
#include "io/tns_line.h"

/** What a block of lines held. Lines count from 1 within the block; 0: none. */
struct pd_tns_result {
  uint64_t lines;
  uint64_t error_line; /* the first that is wrong */
  struct pd_tns_error error;
  uint64_t underflows;
  uint64_t underflow_line; /* the first of them */
};

/** Bytes behind the text that may be read (not used). */
enum { PD_TNS_PADDING = 192 };

/** Whole lines: [begin, end) starts at a line and ends after a "\n". */
struct pd_tns_text {
  const char *begin, *end;
  bool truncated;     /* the last line had no line end of its own */
  size_t piece_bytes; /* fewest for one thread */
};

/** Parses a block of lines and appends the nonzeros. `form->order` must be known. The first error
 *  in the order of the file is reported, whatever the number of threads. */
polyad_status pd_tns_parse_block(const struct pd_tns_form *form, const struct pd_tns_text *text,
                                 struct pd_coordinates *coordinates, struct pd_tns_result *result);

/** Number of line ends. */
uint64_t pd_tns_count_lines(const char *text, const char *end);

#endif
