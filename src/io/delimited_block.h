/* Rows of delimited text taken by several threads at once. */
#ifndef PD_DELIMITED_BLOCK_H
#define PD_DELIMITED_BLOCK_H

#include "io/coordinates.h"
#include "io/delimited_columns.h"
#include "io/delimited_dictionary.h"

enum { PD_BLOCK_THREADS = 16 };

/** A label of a mode that the dictionary did not have when the block began. */
struct pd_fresh_label {
  const char *text;
  size_t length;
  uint64_t hash;
  uint32_t number; /* in the dictionary, afterwards */
};

/** What one thread found new in one mode. */
struct pd_fresh {
  struct pd_fresh_label *label;
  uint32_t count;
  uint32_t *slot; /* place of a label + 1, or 0 */
  char *made;     /* texts of labels that are not in the file: rounded numbers */
  struct pd_fresh_label last;
};

struct pd_block {
  polyad_context *context;
  struct pd_columns_plan *plan;
  struct pd_dictionary *dictionary; /* of each mode */
  struct pd_coordinates *coordinates;
  char delimiter;
  int16_t *role;                  /* of each column: its first mode, or one of the values below */
  int16_t next[POLYAD_MAX_ORDER]; /* the next mode of the same column; PD_ROLE_NONE: none */
  uint64_t rows, slots;           /* that there is room for in each thread */
  uint64_t underflows;            /* values that became zero, of the blocks that were taken */
  struct pd_fresh fresh[PD_BLOCK_THREADS][POLYAD_MAX_ORDER];
};

enum { PD_ROLE_NONE = -1, PD_ROLE_VALUE = -2 };

polyad_status pd_block_open(struct pd_block *block);
void pd_block_close(struct pd_block *block);

/** Takes the rows of [begin, end), which ends behind a line end. *taken false: some row is of a
 * kind that needs the eye of the reader of single rows (quotes, blank lines, errors); then nothing
 * of the block was taken. */
polyad_status pd_block_take(struct pd_block *block, const char *begin, const char *end,
                            uint64_t *lines, bool *taken);

#endif
