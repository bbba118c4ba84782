/* What a run was made of, so that polyad replay can do it again: its options as they were parsed,
 * the hashes of what went in and what came out, and the machine.
 *
 * The functions that all subcommands check their files and read their tensors by tell it, so that
 * every JSON object of a run has a manifest. Tensors and models are hashed by their numbers, other
 * files by their bytes. */
#ifndef CLI_MANIFEST_H
#define CLI_MANIFEST_H

#include "json.h"

/** The names of what a run writes and reads, before it does. Results are the outputs whose option
 *  is of kind CLI_RESULT, and those that have no option. They are hashed with the other files, when
 *  the manifest is made. */
void cli_manifest_files(const struct cli_output *outputs, int count, const char *const *inputs,
                        int input_count);
/** A file (may be NULL) that the run reads and may replace: hashed now. */
void cli_manifest_replaced(const struct cli_session *session, const char *path);
/** A tensor that was read, the one that the run is about first. */
void cli_manifest_tensor(const char *path, uint64_t hash);
/** The hash of the one that the run is about; 0: not known. */
uint64_t cli_manifest_tensor_hash(void);
/** The model that came out. */
void cli_manifest_model(uint64_t hash);

/** Adds the member "manifest", but not to the object of an inquiry (options.h). */
void cli_json_manifest(cJSON *object, const struct cli_session *session);

#endif
