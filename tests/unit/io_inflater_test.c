/* Gzip members that come in pieces, as pipes and buffers cut them: in the header, too. */
#include "harness.h"

#include "io/inflater.h"
#include <polyad/polyad.h>
#include <stdio.h>
#include <zlib.h>

static const char text[] = "1 1 1 2.5\n2 2 2 -3\n";

/* A member whose header has all that it can have. */
static size_t make_member(unsigned char *out, size_t room) {
  unsigned char extra[] = {'A', 'B', 2, 0, 1, 2}, name[] = "name.tns", comment[] = "a comment";
  gz_header header = {
      .extra = extra, .extra_len = sizeof extra, .name = name, .comment = comment, .hcrc = 1};
  z_stream stream = {0};
  assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  assert_int_equal(deflateSetHeader(&stream, &header), Z_OK);
  stream.next_in = (unsigned char *)(uintptr_t)text;
  stream.avail_in = sizeof text - 1;
  stream.next_out = out;
  stream.avail_out = (unsigned)room;
  assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
  size_t size = stream.total_out;
  deflateEnd(&stream);
  return size;
}

/* What is not set in a function called next is then not zero by luck. */
static void __attribute__((noinline)) dirty_stack(void) {
  volatile unsigned char bytes[8192];
  for (size_t k = 0; k < sizeof bytes; ++k)
    bytes[k] = 0xff;
}

/* The member in pieces of `step` bytes, twice. */
static void inflate_pieces(struct pd_inflater *inflater, const unsigned char *member, size_t size,
                           size_t step) {
  for (int turn = 0; turn < 2; ++turn) {
    unsigned char out[64];
    size_t taken = 0, made = 0;
    bool ended = false;
    pd_inflating.reset(inflater);
    for (size_t end = step; !ended; end += step) {
      size_t given = (end < size ? end : size) - taken, room = sizeof out - made;
      dirty_stack();
      assert_null(pd_inflating.run(inflater, member + taken, &given, out + made, &room, &ended));
      taken += given;
      made += room;
      assert_true(ended || end < size + 2 * step);
    }
    assert_int_equal(taken, size);
    assert_int_equal(made, sizeof text - 1);
    assert_memory_equal(out, text, made);
  }
}

static void members_in_pieces(void **state) {
  (void)state;
  unsigned char member[256];
  size_t size = make_member(member, sizeof member);
  polyad_context *context;
  struct pd_inflater *inflater = NULL;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(pd_inflating.create(context, &inflater), POLYAD_OK);
  for (size_t step = 1; step <= size; ++step)
    inflate_pieces(inflater, member, size, step);
  pd_inflating.destroy(context, inflater);
  polyad_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(members_in_pieces)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
