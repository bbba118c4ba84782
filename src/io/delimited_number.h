/* Numbers of delimited text as people write them: 1,234.50, 1.234,50, 1 234, $12, 12 EUR, (12). */
#ifndef PD_DELIMITED_NUMBER_H
#define PD_DELIMITED_NUMBER_H

#include <polyad/io.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A number that was read. */
struct pd_written_number {
  double value;
  uint32_t currency; /* what tells it from other currencies; 0: none was given */
  bool underflow;    /* the value is zero, though the digits do not say so */
};

/** Reads all of a text in the way that `how` says. On failure `why` (NULL: not wanted), of
 *  PD_WRITTEN_WHY bytes, gets what is wrong and what was expected. */
bool pd_written_number_read(polyad_numbers how, const char *text, size_t length,
                            struct pd_written_number *number, char *why);
enum { PD_WRITTEN_WHY = 240 };

#endif
