#include "manifest.h"
#include "parsed.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef XXH_STATIC_LINKING_ONLY
#define XXH_STATIC_LINKING_ONLY /* the state may then live on the stack */
#endif
#include <xxhash.h>

struct noted {
  char *path;
  uint64_t hash;
  bool known;
};
struct notes {
  struct noted *items;
  size_t count, room;
};
static struct notes inputs, results;
static uint64_t tensor_hash, model_hash;

/* Without memory a file is missing: replay is then told that files differ. */
static struct noted *note(struct notes *notes, const char *path) {
  for (size_t k = 0; k < notes->count; ++k)
    if (strcmp(notes->items[k].path, path) == 0) return &notes->items[k];
  if (notes->count == notes->room) {
    size_t more = notes->room == 0 ? 8 : 2 * notes->room;
    struct noted *longer = realloc(notes->items, more * sizeof *longer);
    if (longer == NULL) return NULL;
    notes->items = longer;
    notes->room = more;
  }
  char *copy = strdup(path);
  if (copy == NULL) return NULL;
  notes->items[notes->count] = (struct noted){.path = copy};
  return &notes->items[notes->count++];
}

static bool is_result(const struct cli_output *output) {
  const struct cli_usage *usage = cli_parsed_usage();
  if (output->path == NULL || strcmp(output->path, "-") == 0) return false;
  for (int k = 0; k < usage->option_count; ++k)
    if (usage->options[k].kind == CLI_RESULT && strncmp(output->name, "--", 2) == 0 &&
        strcmp(usage->options[k].name, output->name + 2) == 0)
      return true;
  return strstr(output->name, "--") == NULL;
}

void cli_manifest_files(const struct cli_output *outputs, int count, const char *const *paths,
                        int path_count) {
  for (int k = 0; k < count; ++k)
    if (is_result(&outputs[k])) (void)note(&results, outputs[k].path);
  for (int k = 0; k < path_count; ++k)
    if (paths[k] != NULL && strcmp(paths[k], "-") != 0) (void)note(&inputs, paths[k]);
}

static bool hash_bytes(XXH3_state_t *state, const char *path) {
  enum { BLOCK = 1 << 18 };
  FILE *file = fopen(path, "rb");
  char *block = malloc(BLOCK);
  bool good = file != NULL && block != NULL;
  for (size_t got = good ? BLOCK : 0; got == BLOCK;) {
    got = fread(block, 1, BLOCK, file);
    (void)XXH3_64bits_update(state, block, got);
  }
  good = good && ferror(file) == 0;
  free(block);
  if (file != NULL) (void)fclose(file);
  return good;
}

/* The files of a directory, by name, each after its name. */
static bool hash_directory(XXH3_state_t *state, const char *path) {
  struct dirent **entries;
  int count = scandir(path, &entries, NULL, alphasort);
  bool good = count >= 0;
  for (int k = 0; k < count; ++k) {
    char file[4096];
    struct stat about;
    int length = snprintf(file, sizeof file, "%s/%s", path, entries[k]->d_name);
    bool regular = length > 0 && length < (int)sizeof file && stat(file, &about) == 0 &&
                   S_ISREG(about.st_mode);
    if (regular) {
      (void)XXH3_64bits_update(state, entries[k]->d_name, strlen(entries[k]->d_name) + 1);
      good = hash_bytes(state, file) && good;
    }
    free(entries[k]);
  }
  if (count >= 0) free(entries);
  return good;
}

/* Pages tell which command made them: two runs never write the same one. */
static bool is_page_name(const char *path) {
  size_t length = strlen(path);
  return length > 5 && strcmp(path + length - 5, ".html") == 0;
}

/* What is no file, such as a pipe or the word random of --init, has no hash. */
static void hash_noted(struct noted *noted) {
  XXH3_state_t state;
  struct stat about;
  if (noted->known || is_page_name(noted->path) || stat(noted->path, &about) != 0) return;
  (void)XXH3_64bits_reset(&state);
  if (S_ISREG(about.st_mode))
    noted->known = hash_bytes(&state, noted->path);
  else if (S_ISDIR(about.st_mode))
    noted->known = hash_directory(&state, noted->path);
  noted->hash = XXH3_64bits_digest(&state);
}

void cli_manifest_replaced(const struct cli_session *session, const char *path) {
  if (session->json == NULL || path == NULL) return;
  struct noted *noted = note(&inputs, path);
  if (noted != NULL) hash_noted(noted);
}

void cli_manifest_tensor(const char *path, uint64_t hash) {
  static bool first = true;
  struct noted *noted = note(&inputs, path);
  if (noted != NULL) noted->known = true;
  if (noted != NULL) noted->hash = hash;
  if (first) tensor_hash = hash;
  first = false;
}

uint64_t cli_manifest_tensor_hash(void) { return tensor_hash; }

void cli_manifest_model(uint64_t hash) { model_hash = hash; }

/* Hashes have more bits than JSON's numbers. */
static void put_hash(cJSON *object, const char *key, uint64_t hash) {
  char text[24];
  snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
  cli_json_text(object, key, text);
}

static void put_files(cJSON *object, const char *key, struct notes *notes, bool hashes) {
  cJSON *array = cJSON_AddArrayToObject(object, key);
  for (size_t k = 0; k < notes->count; ++k) {
    struct noted *noted = &notes->items[k];
    if (hashes) hash_noted(noted);
    if (!noted->known && notes == &inputs) continue; /* perhaps no file at all */
    cJSON *item = cJSON_CreateObject();
    cli_json_text(item, "file", noted->path);
    if (noted->known)
      put_hash(item, "hash", noted->hash);
    else
      cJSON_AddNullToObject(item, "hash");
    cJSON_AddItemToArray(array, item);
  }
}

/* The device that the object says, or the context's. */
static void put_device(cJSON *object, const struct cli_session *session, const cJSON *whole) {
  polyad_device_description about;
  const char *device = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(whole, "device"));
  if (device == NULL) device = polyad_device(session->context);
  bool known = polyad_device_describe_named(session->context, device, &about) == POLYAD_OK;
  cli_json_text(object, "device_name", known ? about.description : device);
  cli_json_text(object, "capability", known ? about.capability : "");
}

void cli_json_manifest(cJSON *object, const struct cli_session *session) {
  char directory[4096];
  const struct cli_usage *usage = cli_parsed_usage();
  if (usage->command == NULL || usage->inquires) return;
  cJSON *o = cJSON_AddObjectToObject(object, "manifest");
  cli_json_text(o, "version", polyad_version());
  cli_json_text(o, "command", usage->command);
  cJSON *arguments = cJSON_AddArrayToObject(o, "arguments");
  for (size_t k = 0; k < cli_parsed_count(); ++k)
    cJSON_AddItemToArray(arguments, cli_json_text_item(cli_parsed_word(k)));
  cli_json_text(o, "directory", getcwd(directory, sizeof directory));
  cli_json_count(o, "threads", (uint64_t)polyad_threads(session->context));
  put_hash(o, "tensor_hash", tensor_hash);
  put_hash(o, "model_hash", model_hash);
  /* Without --json it is for a page, which shows no hash. What the processes of a team share out
   * between them the first one does not read alone. */
  put_files(o, "inputs", &inputs, session->json != NULL && session->team == NULL);
  put_files(o, "outputs", &results, session->json != NULL);
  put_device(o, session, object);
}
