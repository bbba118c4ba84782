/* Lines of the most common form of FROSTT text, parsed by AVX-512 with permutations of bytes. */
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
 *  read. Only to be called where pd_tns_vector_usable(). */
void pd_tns_vector_lines(const struct pd_tns_form *form, const char *text, const char *end,
                         pd_tns_other_line *other, void *user, struct pd_tns_columns *columns);

/** Whether this processor has the instructions, and lines of this form can be common ones. */
static inline bool pd_tns_vector_usable(const struct pd_tns_form *form) {
#if defined(__x86_64__)
  return !form->pattern && pd_isa_has_byte_permutations();
#else
  (void)form;
  return false;
#endif
}

#endif
