/* The text is cut into turns of equal length, short enough for a turn's bytes to stay in the cache
 * of its thread from reading to parsing. A thread draws the next turn, reads its bytes, and counts
 * its lines: those that begin in it. Where its nonzeros go is known as soon as the turns before
 * have counted theirs, which they do in the same order, right after reading: the place is handed on
 * from turn to turn. Then each parses into its place while others read.
 *
 * What is not a row of plain nonzeros is left to the caller, who parses from the first such turn on
 * in blocks (tns_block.h), one after the other: the turns behind it are forgotten. */
#include "io/tns_turns.h"
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { TURNS_MOST = 1 << 10, SPINS = 1 << 8 };

struct turn {
  bool taken;   /* all of its lines are nonzeros in their places */
  bool left;    /* the memory that is there did not hold it, or its bytes were not there */
  uint64_t end; /* byte of the file behind it */
  uint64_t lines;
  uint64_t largest[POLYAD_MAX_ORDER];
};

struct round {
  const struct pd_tns_turns *turns;
  struct pd_coordinates_chunk *chunk;
  struct turn *turn;
  uint64_t count;       /* of turns */
  atomic_ullong drawn;  /* turns that threads have taken up */
  atomic_ullong handed; /* the turn that may look at `place` */
  uint64_t place;       /* of its first nonzero */
  atomic_bool stop;
};

/* Reads the bytes of a turn and finds its lines: from the first that begins in it to the end of the
 * last. False when bytes or line ends are missing. */
static bool read_turn(const struct round *round, uint64_t k, char *buffer, struct turn *turn,
                      struct pd_tns_piece *piece) {
  const struct pd_tns_turns *turns = round->turns;
  size_t before = k > 0, size = before + turns->bytes + PD_TNS_TURN_TAIL;
  uint64_t from = turns->begin + k * turns->bytes - before;
  turn->left = !pd_input_read_at(turns->input, from, buffer, size);
  if (turn->left) return false;
  const char *last = buffer + before + turns->bytes - 1; /* its line end, or one behind it, ends */
  const char *begin = k == 0 ? buffer : memchr(buffer, '\n', turns->bytes);
  const char *end = memchr(last, '\n', PD_TNS_TURN_TAIL + 1);
  if (begin == NULL || end == NULL) return false;
  *piece = (struct pd_tns_piece){.begin = begin + before, .end = end + 1};
  piece->lines = pd_tns_count_lines(piece->begin, piece->end);
  turn->end = from + (uint64_t)(piece->end - buffer);
  turn->lines = piece->lines;
  return true;
}

/* Waits until all turns before have their places. */
static void wait_for_place(struct round *round, uint64_t k) {
  for (int spins = 0; atomic_load_explicit(&round->handed, memory_order_acquire) != k; ++spins)
    if (spins > SPINS) (void)sched_yield();
}

/* One turn. Each one that is drawn hands on the place, or threads would wait for ever. */
static void take_turn(struct round *round, uint64_t k, char *buffer) {
  const struct pd_tns_turns *turns = round->turns;
  struct turn *turn = &round->turn[k];
  struct pd_tns_piece piece;
  bool fine = read_turn(round, k, buffer, turn, &piece);
  wait_for_place(round, k);
  if (fine && round->chunk->room - round->place < piece.lines) {
    turn->left = true;
    fine = false;
  }
  if (fine) {
    piece.first = round->place;
    round->place += piece.lines;
  } else {
    atomic_store(&round->stop, true);
  }
  atomic_store_explicit(&round->handed, k + 1, memory_order_release);
  if (!fine) return;
  pd_tns_parse_piece(turns->form, piece.end, false, round->chunk, &piece);
  memcpy(turn->largest, piece.largest, sizeof turn->largest);
  turn->taken =
      piece.count == piece.lines && piece.error_line == 0 && piece.underflows == 0 && !piece.wide;
  if (!turn->taken) atomic_store(&round->stop, true);
}

static void draw_turns(struct round *round, char *buffer) {
  while (!atomic_load(&round->stop)) {
    uint64_t k = atomic_fetch_add(&round->drawn, 1);
    if (k >= round->count) return;
    take_turn(round, k, buffer);
  }
}

/* Counts what the turns before the first one that was not taken hold. */
static void end_round(struct pd_tns_turns *turns, const struct round *round) {
  struct pd_coordinates *coordinates = turns->coordinates;
  uint64_t k, lines = 0;
  for (k = 0; k < round->count && round->turn[k].taken; ++k) {
    const struct turn *turn = &round->turn[k];
    lines += turn->lines;
    turns->begin = turn->end;
    for (int n = 0; n < turns->form->order; ++n)
      if (turn->largest[n] > coordinates->largest[n]) coordinates->largest[n] = turn->largest[n];
  }
  turns->plain = k == round->count || round->turn[k].left;
  turns->lines += lines;
  pd_coordinates_add(coordinates, lines);
}

polyad_status pd_tns_take_turns(struct pd_tns_turns *turns) {
  polyad_context *context = turns->coordinates->context;
  uint64_t left = turns->end - turns->begin;
  struct round round = {.turns = turns, .chunk = turns->coordinates->last};
  turns->lines = 0;
  turns->plain = true;
  if (round.chunk == NULL || round.chunk->index_bytes != turns->coordinates->index_bytes ||
      turns->end < turns->begin || left < turns->bytes + PD_TNS_TURN_TAIL)
    return POLYAD_OK;
  round.count = (left - PD_TNS_TURN_TAIL) / turns->bytes;
  if (round.count > TURNS_MOST) round.count = TURNS_MOST;
  round.place = round.chunk->count;
  PD_TRY(PD_NEW_ZERO(context, round.count, &round.turn));
  int threads = polyad_threads(context);
  if ((uint64_t)threads > round.count) threads = (int)round.count;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    draw_turns(&round, turns->buffer + (size_t)t * pd_tns_turn_buffer(turns->bytes));
  end_round(turns, &round);
  pd_free(context, round.turn);
  return POLYAD_OK;
}
