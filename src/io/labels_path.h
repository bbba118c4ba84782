/* Names of label files: STEM.labels/mode-K-NAME.map beside STEM.tns. */
#ifndef PD_LABELS_PATH_H
#define PD_LABELS_PATH_H

#include "core/core.h"

enum { PD_LABELS_PATH_BYTES = 4096, PD_LABELS_NAME_BYTES = 256 };

/** Writes "STEM.labels" for a tensor file; false when it is too long. */
bool pd_labels_directory(char out[PD_LABELS_PATH_BYTES], const char *path);

/** Writes "FILE.labels" for a model's FILE, since STEM.labels would be that of the tensor that the
 *  model was made of; false when it is too long. */
bool pd_labels_model_directory(char out[PD_LABELS_PATH_BYTES], const char *path);

/** Whether a file's name is mode-K-NAME.map or mode-K.map (with .gz or .zst); then the number of
 *  the mode from 1 (UINT64_MAX: too large) and the name ("" where there is none). */
bool pd_labels_parse_name(const char *file, uint64_t *mode, char name[PD_LABELS_NAME_BYTES]);

/** Name of the file for a mode (from 1). Of the mode's name (may be NULL) only letters, digits,
 *  '_' and '-' are kept, so that no name leads elsewhere. */
void pd_labels_file_name(char out[PD_LABELS_NAME_BYTES], int mode, const char *name);

#endif
