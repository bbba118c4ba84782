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

/** Lines of one thread. */
struct pd_tns_piece {
  const char *begin, *end;
  uint64_t lines;
  uint64_t first; /* place of its first nonzero in the chunk */
  uint64_t count;
  uint64_t largest[POLYAD_MAX_ORDER];
  uint64_t error_line; /* from 1 within the piece; 0: none */
  struct pd_tns_error error;
  uint64_t underflows, underflow_line;
  bool wide; /* met an index that 32 bits do not hold: nothing else counts then */
};

/** Whole lines: [begin, end) starts at a line and ends after a "\n". */
struct pd_tns_text {
  const char *begin, *end;
  bool truncated;     /* the last line had no line end of its own */
  size_t piece_bytes; /* fewest for one thread */
};

/** Parses a piece, whose bounds and first place are set, into a chunk with room for its lines. The
 *  line that ends at `text_end` is `truncated` when it had no line end of its own. */
void pd_tns_parse_piece(const struct pd_tns_form *form, const char *text_end, bool truncated,
                        struct pd_coordinates_chunk *chunk, struct pd_tns_piece *piece);

/** Parses a block of lines and appends the nonzeros. `form->order` must be known. The first error
 *  in the order of the file is reported, whatever the number of threads. */
polyad_status pd_tns_parse_block(const struct pd_tns_form *form, const struct pd_tns_text *text,
                                 struct pd_coordinates *coordinates, struct pd_tns_result *result);

/** Number of line ends. */
uint64_t pd_tns_count_lines(const char *text, const char *end);

#endif
