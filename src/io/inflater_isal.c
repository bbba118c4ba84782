/* Inflating by Intel's ISA-L, which is about three times as fast as zlib. */
#include "io/inflater.h"
#include <isa-l.h>

enum { FLAGS_PLACE = 3, FLAGS_RESERVED = 0xe0 }; /* RFC 1952, section 2.3.1 */

struct pd_inflater {
  struct inflate_state state;
  int header; /* bytes of the member's header that were given, up to its flags */
  /* The header, read apart from the data: isal_inflate keeps its flags for the length of a call,
   * and goes on with any others where a header comes in two pieces. */
  struct isal_gzip_header fields;
  bool header_read;
};

static void isal_reset(struct pd_inflater *inflater) {
  isal_inflate_reset(&inflater->state);
  inflater->state.crc_flag = ISAL_GZIP_NO_HDR_VER;
  inflater->header = 0;
  inflater->fields = (struct isal_gzip_header){0};
  inflater->header_read = false;
}

static polyad_status isal_create(polyad_context *context, struct pd_inflater **inflater) {
  /* Zeroed, since damaged data may point before the member's beginning, into its buffer. */
  PD_TRY(PD_NEW_ZERO(context, 1, inflater));
  isal_inflate_init(&(*inflater)->state);
  isal_reset(*inflater);
  return POLYAD_OK;
}

/* ISA-L takes headers with flags that mean nothing, which must be refused. */
static bool unknown_flags(struct pd_inflater *inflater, const unsigned char *in, uint32_t given) {
  for (uint32_t k = 0; k < given && inflater->header <= FLAGS_PLACE; ++k)
    if (inflater->header++ == FLAGS_PLACE && (in[k] & FLAGS_RESERVED) != 0) return true;
  return false;
}

static const char *isal_words(int result) {
  switch (result) {
  case ISAL_INVALID_BLOCK:
    return "invalid block";
  case ISAL_INVALID_SYMBOL:
    return "invalid code";
  case ISAL_INVALID_LOOKBACK:
    return "invalid distance too far back";
  case ISAL_INVALID_WRAPPER:
    return "incorrect header";
  case ISAL_UNSUPPORTED_METHOD:
    return "unknown compression method";
  case ISAL_INCORRECT_CHECKSUM:
    return "incorrect data check";
  default:
    return "invalid stream";
  }
}

static const char *isal_run(struct pd_inflater *inflater, const unsigned char *in, size_t *in_size,
                            unsigned char *out, size_t *out_size, bool *ended) {
  struct inflate_state *state = &inflater->state;
  const uint32_t most = UINT32_C(1) << 30;
  uint32_t given = *in_size < most ? (uint32_t)*in_size : most;
  uint32_t room = *out_size < most ? (uint32_t)*out_size : most;
  *ended = false;
  if (unknown_flags(inflater, in, given)) {
    *in_size = *out_size = 0;
    return "unknown header flags set";
  }
  state->next_in = (unsigned char *)(uintptr_t)in; /* it is only read */
  state->avail_in = given;
  state->next_out = out;
  state->avail_out = room;
  int result = ISAL_DECOMP_OK;
  if (!inflater->header_read) {
    result = isal_read_gzip_header(state, &inflater->fields);
    inflater->header_read = result == ISAL_DECOMP_OK;
  }
  if (inflater->header_read) result = isal_inflate(state);
  *in_size = given - state->avail_in;
  *out_size = room - state->avail_out;
  *ended = state->block_state == ISAL_BLOCK_FINISH;
  return result < 0 ? isal_words(result) : NULL;
}

static bool isal_run_whole(struct pd_inflater *inflater, const unsigned char *in, size_t in_size,
                           unsigned char *out, size_t out_size) {
  struct inflate_state *state = &inflater->state;
  isal_inflate_reset(state);
  state->crc_flag = ISAL_GZIP;
  state->next_in = (unsigned char *)(uintptr_t)in; /* it is only read */
  state->avail_in = (uint32_t)in_size;
  state->next_out = out;
  state->avail_out = (uint32_t)out_size;
  return isal_inflate_stateless(state) == ISAL_DECOMP_OK && state->avail_in == 0 &&
         state->avail_out == 0;
}

static void isal_destroy(polyad_context *context, struct pd_inflater *inflater) {
  pd_free(context, inflater);
}

const struct pd_inflater_functions pd_inflating = {isal_create, isal_reset, isal_run,
                                                   isal_run_whole, isal_destroy};
