/* The page of polyad rank --report. */
#ifndef CLI_REPORT_RANK_H
#define CLI_REPORT_RANK_H

#include "session.h"
#include <polyad/rank.h>

/** What it is about. */
struct cli_rank_page {
  const char *file, *algorithm;
  const uint64_t *dims;
  int order;
  uint64_t nnz, starts, seed;
  const polyad_rank_result *result;
};

/** Writes it. 0, or an exit status after an error was printed. */
int cli_rank_page_write(const struct cli_session *session, const struct cli_rank_page *page,
                        const char *path);

#endif
