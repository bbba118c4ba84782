#include "streaming.h"
#include "heap.h"
#include "text.h"
#include <string.h>
#include <sys/stat.h>

/* Whether a name is that of a file which can be read a second time. */
static bool read_again(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

/* The room on disk that it will take, where that is known. */
static void tell_room(const struct cli_session *session, const struct cli_streaming *streaming) {
  char room[32];
  if (streaming->disk > 0)
    cli_talk(session, "while it streams it takes about %s of room on disk\n",
             cli_bytes(room, streaming->disk));
}

/* Bytes of the memory that the tensor would lie in: within the limit, what the device has. */
static uint64_t room_of(const struct cli_session *session, const char *device) {
  polyad_device_description about;
  uint64_t limit = polyad_memory_limit(session->context);
  if (strcmp(device, "cpu") == 0 ||
      polyad_device_describe_named(session->context, device, &about) != POLYAD_OK)
    return limit;
  return about.memory_bytes < limit ? about.memory_bytes : limit;
}

bool cli_streams(const struct cli_session *session, struct cli_streaming *streaming,
                 const char *path, const polyad_plan_options *options,
                 const polyad_read_options *read, bool able) {
  cli_heap_begin(path);
  const char *device = polyad_device(session->context);
  uint64_t bytes = 0, room = room_of(session, device);
  char need[32], have[32];
  bool automatic = strcmp(streaming->stream, "auto") == 0;
  bool always = strcmp(streaming->stream, "always") == 0;
  /* It streams to one device. */
  streaming->able = automatic && able && read_again(path) && strchr(device, ',') == NULL;
  streaming->disk = 0;
  streaming->options_hold = polyad_plan_memory_from_file(session->context, path, options, read,
                                                         &bytes, &streaming->disk) == POLYAD_OK;
  if (streaming->able && bytes > room && strcmp(device, "cpu") == 0)
    cli_talk(session,
             "the tensor would take %s of memory and the limit is %s: it streams from disk\n",
             cli_bytes(need, bytes), cli_bytes(have, room));
  else if (streaming->able && bytes > room)
    cli_talk(session,
             "the tensor would take %s of the memory of %s, where %s can be used: it streams\n",
             cli_bytes(need, bytes), device, cli_bytes(have, room));
  always |= streaming->able && bytes > room;
  if (always) tell_room(session, streaming);
  return always;
}

bool cli_streams_instead(const struct cli_session *session, const struct cli_streaming *streaming,
                         polyad_status made) {
  char have[32];
  if (made != POLYAD_MEMORY_LIMIT || !streaming->able) return false;
  cli_talk(session,
           "the limit of %s leaves no room for the tensor and a format beside it: it streams from "
           "disk\n",
           cli_bytes(have, polyad_memory_limit(session->context)));
  tell_room(session, streaming);
  return true;
}

polyad_status cli_stream_plan(const struct cli_session *session,
                              const struct cli_streaming *streaming, const char *path,
                              const polyad_plan_options *options, const polyad_read_options *read,
                              polyad_plan **plan) {
  polyad_stream_options stream;
  polyad_stream_info about;
  char memory[32], lists[32], there[32];
  polyad_stream_options_init(&stream);
  stream.spill_directory = streaming->spill_dir;
  stream.read = read;
  polyad_status status =
      polyad_plan_create_from_file(session->context, path, options, &stream, plan);
  if (status != POLYAD_OK) return status;
  polyad_plan_stream_info(*plan, &about);
  /* Factors beyond the limit are refused when they are made, with their bytes. */
  if (about.memory_bytes > polyad_memory_limit(session->context)) return POLYAD_OK;
  uint64_t device = polyad_plan_device_bytes(*plan, polyad_plan_device(*plan));
  uint64_t bytes = polyad_plan_bytes(*plan) + about.packed_bytes;
  cli_talk(session,
           "streams in %llu chunk%s a mode, %s %s; CP-ALS takes at most %s of memory%s%s%s%s\n",
           (unsigned long long)about.chunks, about.chunks == 1 ? "" : "s", cli_bytes(lists, bytes),
           about.spilled_bytes > 0 ? "on disk" : "in memory", cli_bytes(memory, about.memory_bytes),
           device > 0 ? ", and " : "", device > 0 ? cli_bytes(there, device) : "",
           device > 0 ? " of that of " : "", device > 0 ? polyad_plan_device(*plan) : "");
  return POLYAD_OK;
}

void cli_json_streaming(cJSON *object, const polyad_plan *plan) {
  polyad_stream_info about;
  polyad_plan_stream_info(plan, &about);
  cli_json_bool(object, "streamed", about.streamed != 0);
  if (!about.streamed) {
    cJSON_AddNullToObject(object, "stream");
    return;
  }
  cJSON *o = cJSON_AddObjectToObject(object, "stream");
  cli_json_count(o, "chunks", about.chunks);
  cli_json_count(o, "chunk_nonzeros", about.chunk_nonzeros);
  cli_json_count(o, "spilled_bytes", about.spilled_bytes);
  cli_json_count(o, "packed_bytes", about.packed_bytes);
  cli_json_count(o, "memory_bytes", about.memory_bytes);
  cli_json_counts(o, "pass_bytes", about.pass_bytes, polyad_plan_order(plan));
}
