/* Threads that read and parse a plain file in turns, without waiting for each other at the ends of
 * blocks. */
#ifndef PD_TNS_TURNS_H
#define PD_TNS_TURNS_H

#include "io/input.h"
#include "io/tns_block.h"

/** Bytes behind a turn's own, in which its last line ends. */
enum { PD_TNS_TURN_TAIL = 1 << 10 };

struct pd_tns_turns {
  const struct pd_tns_form *form; /* the order is known */
  struct pd_input *input;
  struct pd_coordinates *coordinates; /* nonzeros are appended */
  uint64_t begin, end;                /* bytes of the file; a line begins at the first */
  size_t bytes;                       /* of a turn */
  char *buffer;                       /* pd_tns_turn_buffer() bytes for each thread */
  uint64_t lines;                     /* result: those that were taken */
  bool plain;                         /* result: nothing else than plain nonzeros was met */
};

static inline size_t pd_tns_turn_buffer(size_t bytes) {
  return bytes + PD_TNS_TURN_TAIL + PD_TNS_PADDING + 1;
}

/** Takes lines from `begin` on, and moves it behind them. Stops where the memory that is there for
 *  nonzeros or the text ends, and before a turn with anything that must be said or closed up: an
 *  error, a warning, a comment, a blank line, a long line or an index of more than 32 bits. */
polyad_status pd_tns_take_turns(struct pd_tns_turns *turns);

#endif
