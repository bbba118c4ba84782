/* JSON objects: numbers with 17 significant digits, integers exact, never NaN. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include "session.h"
#include <cjson/cJSON.h>

/* Each adds one member; NULL items (out of memory) are noticed when the object is written. */
/* Text; null where it is NULL. */
cJSON *cli_json_text_item(const char *text);
void cli_json_text(cJSON *object, const char *key, const char *text);
void cli_json_count(cJSON *object, const char *key, uint64_t value);
void cli_json_count_above_0(cJSON *object, const char *key, uint64_t value); /* 0 is null */
void cli_json_real(cJSON *object, const char *key, double value); /* null when not finite */
void cli_json_bool(cJSON *object, const char *key, bool value);
void cli_json_counts(cJSON *object, const char *key, const uint64_t *values, int count);
/** The modes of a set, bit n for mode n, as numbers from 1. */
void cli_json_modes(cJSON *object, const char *key, uint32_t modes, int order);
void cli_json_reals(cJSON *object, const char *key, const double *values, int count);

/** Adds the manifest (manifest.h) and where the time went until now (phases.h), writes the object
 * to the session's --json (nothing when there is none) and deletes it. 0, or an exit status after
 * an error was printed. */
int cli_json_write(struct cli_session *session, cJSON *object);

#endif
