/* Hostile and odd text inputs with the verdict that each must get. */
#ifndef PD_IO_TEXT_CASES_H
#define PD_IO_TEXT_CASES_H

#include <stddef.h>
#include <stdint.h>

/** Bytes that grow. */
struct text_buffer {
  char *bytes;
  size_t size, room;
};

void text_append(struct text_buffer *buffer, const void *bytes, size_t size);
void text_repeat(struct text_buffer *buffer, const char *text, size_t times);
void text_free(struct text_buffer *buffer);
/** Appends `bytes` as one gzip member. */
void text_gzip(struct text_buffer *buffer, const void *bytes, size_t size);

struct text_case {
  const char *id, *file;
  const char *bytes; /* NULL: build() makes them */
  size_t size;
  void (*build)(struct text_buffer *buffer);
  const char *says;   /* rejected: part of the message; NULL: accepted */
  uint64_t line;      /* rejected: in this line; 0: the message has none */
  const char *equals; /* accepted: the tensor as sorted lines; NULL: G */
};

extern const struct text_case text_cases[];
extern const size_t text_case_count;

/** The bytes of a case. */
void text_case_bytes(const struct text_case *one, struct text_buffer *buffer);

#endif
