/* The fields of a window of FROSTT text, between the steps of tns_vector_body.h. */
#ifndef PD_TNS_VECTOR_FIELDS_H
#define PD_TNS_VECTOR_FIELDS_H

#include "io/tns_block.h"
#include "io/tns_fast.h"
#include "io/tns_vector.h"
#include <immintrin.h>
#include <stddef.h>

enum { WINDOW = 4096, STEP = 64, GROUP = 8, DIGITS_MOST = 8 };
enum { FIELDS = WINDOW + 2 * STEP, FLAG_WORDS = FIELDS / 64 + 2 };

_Static_assert(POLYAD_MAX_ORDER + 2 <= 57, "the flags of a line are read at once");

/* The fields of a window of text. */
struct fields {
  const char *text;
  uint32_t count, lines;
  uint16_t before_first;     /* end[-1]: in front of the window */
  uint16_t end[FIELDS];      /* the offset of the byte behind each field */
  uint16_t last[FIELDS];     /* of each line, the field that its "\n" ends */
  uint32_t number[FIELDS];   /* where the field has 1 to 8 digits */
  uint64_t odd[FLAG_WORDS];  /* bit f: field f ends at no blank, or has no digit or too many */
  uint64_t size[FLAG_WORDS]; /* bit f: it has no digit or too many */
  union { /* which byte ends each field, as field_flags() of the instruction set wants it */
    char byte[FIELDS];
    struct {
      uint64_t blank[FLAG_WORDS], line[FLAG_WORDS];
    } bits;
  } ending;
};

_Static_assert(offsetof(struct fields, end) == offsetof(struct fields, before_first) + 2,
               "the end in front of the first one");

/* What 64 fields are, a bit for each. */
struct flags {
  uint64_t size;  /* no digit, or too many */
  uint64_t blank; /* ends at a blank */
  uint64_t line;  /* ends at a "\n" */
};

#endif
