/* Times of delimited text moved from the clock on which they are written to another zone's. */
#ifndef PD_DELIMITED_ZONE_H
#define PD_DELIMITED_ZONE_H

#include "io/delimited_time.h"
#include "io/time_zone.h"

/** Whose clock times without a zone are written on, and whose they are wanted on. */
struct pd_clocks {
  bool given;    /* false: times stay as they are written */
  bool has_from; /* false: every time must have a zone behind it */
  bool same;     /* both are the same zone: times without a zone stay */
  enum { PD_CLOCKS_ASK, PD_CLOCKS_EARLIER, PD_CLOCKS_LATER } twice; /* of hours that came twice */
  struct pd_zone from, to;
};

/** Reads FROM[=earlier|=later][:TO] or :TO, and the zones' files. NULL: nothing is given. */
polyad_status pd_clocks_open(polyad_context *context, const char *text, struct pd_clocks *clocks);
void pd_clocks_close(struct pd_clocks *clocks);

/** Moves a time; one without a time of day stays. On failure `why` (NULL: not wanted), of
 *  PD_CLOCKS_WHY bytes, gets what is wrong and what was expected. */
bool pd_clocks_move(const struct pd_clocks *clocks, struct pd_time *time, char *why);
enum { PD_CLOCKS_WHY = 240 };

#endif
