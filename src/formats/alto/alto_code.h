/* Between indices and keys, many nonzeros at once: with the processor's own instructions (pdep,
 * pext) where it has fast ones, else by shifts and masks. */
#ifndef PD_ALTO_CODE_H
#define PD_ALTO_CODE_H

#include "formats/alto/alto_layout.h"

/** index[p] = index in `mode` of nonzero first + p. */
typedef void pd_alto_decode_function(const struct pd_alto *alto, int mode, uint64_t first,
                                     uint64_t count, uint64_t *index);
/** Puts indices of some modes (index[n], of bytes[n] bytes: 4 or 8) into keys: low[p] |= ..., and
 *  high[p] unless NULL, which it is where no mode has bits there. */
typedef void pd_alto_encode_function(int modes, const struct pd_alto_mode *mode,
                                     const void *const *index, const int *bytes, uint64_t count,
                                     uint64_t *low, uint64_t *high);

struct pd_alto_coder {
  const char *name; /* "shifts" or "pext" */
  pd_alto_decode_function *decode;
  pd_alto_encode_function *encode;
};

extern const struct pd_alto_coder pd_alto_coder_shifts;
/** Only on x86-64, and only to be used where pd_isa_has_pext(). */
extern const struct pd_alto_coder pd_alto_coder_pext;

/** The one for the current instruction set. */
const struct pd_alto_coder *pd_alto_coder_current(void);

/** What decodes the storage: the above, or the current coder's. */
pd_alto_decode_function *pd_alto_decoder(const struct pd_alto *alto);

#endif
