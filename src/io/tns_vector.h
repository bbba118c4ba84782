/* Lines of the most common form of FROSTT text, parsed by vector instructions. */
#ifndef PD_TNS_VECTOR_H
#define PD_TNS_VECTOR_H

#include "core/isa.h"
#include "io/tns_line.h"

/** Where the nonzeros of lines go: arrays of 32-bit indices, one for each mode, and values. */
struct pd_tns_columns {
  uint32_t *index[POLYAD_MAX_ORDER];
  void *values;                       /* floats when the form is `single`, else doubles */
  uint64_t at;                        /* place of the next nonzero */
  uint64_t largest[POLYAD_MAX_ORDER]; /* of the indices that were put */
};

/** Takes a line of another form, which ends at `end`, its "\n". False: no further line is wanted.
 */
typedef bool pd_tns_other_line(void *user, const char *line, const char *end,
                               struct pd_tns_columns *columns);

/** Parses whole lines [text, end), in their order. Lines that are not of the common form go to
 *  `other`: it puts what they hold, and finds every error. PD_TNS_PADDING bytes behind `end` are
 *  read. */
typedef void pd_tns_vector_parser(const struct pd_tns_form *form, const char *text, const char *end,
                                  pd_tns_other_line *other, void *user,
                                  struct pd_tns_columns *columns);

extern pd_tns_vector_parser pd_tns_vector_lines_avx2, pd_tns_vector_lines_avx512;

/** The parser for this processor; NULL where it lacks the instructions, or lines of this form
 *  cannot be common ones. */
static inline pd_tns_vector_parser *pd_tns_vector_parser_of(const struct pd_tns_form *form) {
#if defined(__x86_64__)
  if (form->pattern) return NULL;
  if (pd_isa_has_byte_permutations()) return pd_tns_vector_lines_avx512;
  if (pd_isa_has_pext()) return pd_tns_vector_lines_avx2;
#else
  (void)form;
#endif
  return NULL;
}

#endif
