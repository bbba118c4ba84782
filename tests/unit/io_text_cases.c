#include "io_text_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define G "1 1 1 1.0\n1 2 1 2.0\n2 1 2 3.0\n"

void text_append(struct text_buffer *b, const void *bytes, size_t size) {
  if (b->size + size > b->room) {
    b->room = 2 * (b->size + size) + 64;
    b->bytes = realloc(b->bytes, b->room);
    if (b->bytes == NULL) abort();
  }
  if (size > 0) memcpy(b->bytes + b->size, bytes, size);
  b->size += size;
}

void text_repeat(struct text_buffer *b, const char *text, size_t times) {
  size_t length = strlen(text);
  for (size_t k = 0; k < times; ++k)
    text_append(b, text, length);
}

void text_free(struct text_buffer *b) {
  free(b->bytes);
  *b = (struct text_buffer){0};
}

static void pack(struct text_buffer *b, const void *bytes, size_t size, int level) {
  z_stream z = {0};
  if (deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) abort();
  size_t bound = deflateBound(&z, (uLong)size);
  unsigned char *packed = malloc(bound);
  if (packed == NULL) abort();
  z.next_in = (unsigned char *)(uintptr_t)bytes;
  z.avail_in = (uInt)size;
  z.next_out = packed;
  z.avail_out = (uInt)bound;
  if (deflate(&z, Z_FINISH) != Z_STREAM_END) abort();
  text_append(b, packed, z.total_out);
  deflateEnd(&z);
  free(packed);
}

void text_gzip(struct text_buffer *b, const void *bytes, size_t size) {
  pack(b, bytes, size, Z_DEFAULT_COMPRESSION);
}

static void order_65(struct text_buffer *b) {
  text_repeat(b, "1 ", 65);
  text_repeat(b, "1.0\n", 1);
}

static void hundred_thousand_fields(struct text_buffer *b) {
  text_repeat(b, "1 ", 100000);
  text_repeat(b, "1.0\n", 1);
}

static void nuls(struct text_buffer *b) {
  for (int k = 0; k < 65536; ++k)
    text_append(b, "", 1);
}

static void all_bytes(struct text_buffer *b) {
  for (int k = 0; k < 4096; ++k) {
    char c = (char)(k % 256);
    text_append(b, &c, 1);
  }
}

static void png(struct text_buffer *b) {
  text_append(b, "\x89PNG\r\n\x1a\n", 8);
  for (int k = 0; k < 100; ++k)
    text_append(b, "", 1);
}

static void digits_1mib(struct text_buffer *b) { text_repeat(b, "1", 1 << 20); }

static void long_line(struct text_buffer *b) { text_repeat(b, "1 ", 1 << 20); }

static void long_comment(struct text_buffer *b) {
  text_repeat(b, "#", 1);
  text_repeat(b, "x", 1 << 20);
  text_repeat(b, "\n" G, 1);
}

static void long_trailing_comment(struct text_buffer *b) {
  text_repeat(b, "1 1 1 1.0 #", 1);
  text_repeat(b, "x", 1 << 20);
  text_repeat(b, "\n1 2 1 2.0\n2 1 2 3.0 # end", 1);
}

static void long_blanks(struct text_buffer *b) {
  text_repeat(b, G "1 1 1", 1);
  text_repeat(b, " ", 70000);
  text_repeat(b, "1\n", 1);
}

static void order_changes(struct text_buffer *b) {
  text_repeat(b, "1 1 1 1.0\n", 1000);
  text_repeat(b, "1 1 1 1 1.0\n", 1000);
}

static void zero_late(struct text_buffer *b) {
  text_repeat(b, G, 1000);
  text_repeat(b, "0 1 1 1.0\n", 1);
}

static void many_zeros(struct text_buffer *b) {
  text_repeat(b, "0", 10000);
  text_repeat(b, "7 1 1 1.0\n", 1);
}

static void long_value(struct text_buffer *b) {
  text_repeat(b, G "1 1 1 0.", 1);
  text_repeat(b, "1", 3000);
  text_repeat(b, "\n", 1);
}

static void errors_far_apart(struct text_buffer *b) {
  text_repeat(b, "1 1 1 1.0\n", 20000);
  text_repeat(b, "1 1 x 1.0\n", 1);
  text_repeat(b, "1 1 1 1.0\n", 20000);
  text_repeat(b, "0 1 1 y\n", 5);
}

static void gzip_of(struct text_buffer *b, const char *text) { text_gzip(b, text, strlen(text)); }

/* 3000 nonzeros that do not pack to nothing, so that cuts fall inside the data. */
static void packed(struct text_buffer *b) {
  struct text_buffer plain = {0};
  for (unsigned k = 1; k <= 3000; ++k) {
    char line[64];
    snprintf(line, sizeof line, "%u %u %u %u.25\n", k, 1 + k * 7919 % 101, 1 + k * 104729 % 97, k);
    text_repeat(&plain, line, 1);
  }
  text_gzip(b, plain.bytes, plain.size);
  text_free(&plain);
}

static void cut_half(struct text_buffer *b) {
  packed(b);
  b->size /= 2;
}

static void cut_trailer(struct text_buffer *b) {
  packed(b);
  b->size -= 4;
}

static void cut_header(struct text_buffer *b) {
  packed(b);
  b->size = 5;
}

static void bad_size(struct text_buffer *b) {
  packed(b);
  b->bytes[b->size - 1] ^= 1;
}

static void bad_check(struct text_buffer *b) {
  packed(b);
  b->bytes[b->size - 6] ^= 1;
}

/* The text stays text: only its checksum tells. */
static void bit_flip(struct text_buffer *b) {
  struct text_buffer plain = {0};
  text_repeat(&plain, G, 1000);
  pack(b, plain.bytes, plain.size, Z_NO_COMPRESSION);
  char *one = memchr(b->bytes + b->size / 2, '1', b->size / 2);
  if (one == NULL) abort();
  *one ^= 2;
  text_free(&plain);
}

static void trailing_garbage(struct text_buffer *b) {
  gzip_of(b, G);
  text_repeat(b, "garbage", 1);
}

static void trailing_zeros(struct text_buffer *b) {
  gzip_of(b, G);
  for (int k = 0; k < 512; ++k)
    text_append(b, "", 1);
}

static void garbage_after_zeros(struct text_buffer *b) {
  trailing_zeros(b);
  text_repeat(b, "x", 1);
}

static void two_members(struct text_buffer *b) {
  gzip_of(b, "1 1 1 1.0\n1 2 1 ");
  gzip_of(b, "2.0\n2 1 2 3.0\n");
}

static void empty_last_member(struct text_buffer *b) {
  gzip_of(b, G);
  gzip_of(b, "");
}

static void good_gzip(struct text_buffer *b) { gzip_of(b, G); }

static void gzip_of_nothing(struct text_buffer *b) { gzip_of(b, ""); }

static void packed_twice(struct text_buffer *b) {
  struct text_buffer once = {0};
  gzip_of(&once, G);
  text_gzip(b, once.bytes, once.size);
  text_free(&once);
}

static void stored_name(struct text_buffer *b) {
  struct text_buffer plain = {0};
  gzip_of(&plain, G);
  text_append(b, "\x1f\x8b\x08\x08\0\0\0\0\x02\xff../../etc/passwd", 27);
  text_append(b, plain.bytes + 10, plain.size - 10);
  text_free(&plain);
}

static void packed_error(struct text_buffer *b) { gzip_of(b, G "1 1 oops 1\n"); }

/* An error of the text in front of damage is the one to name. */
static void error_before_cut(struct text_buffer *b) {
  struct text_buffer plain = {0};
  text_repeat(&plain, G "1 1 oops 1\n", 1);
  unsigned seed = 1;
  for (int k = 0; k < 200000; ++k) {
    char line[64];
    seed = seed * 1664525 + 1013904223;
    snprintf(line, sizeof line, "%u 1 1 %u\n", 1 + seed % 1000, seed);
    text_repeat(&plain, line, 1);
  }
  text_gzip(b, plain.bytes, plain.size);
  b->size /= 2;
  text_free(&plain);
}

static void bomb_of_nuls(struct text_buffer *b) {
  char *zeros = calloc(1, 16 << 20);
  if (zeros == NULL) abort();
  text_gzip(b, zeros, 16 << 20);
  free(zeros);
}

#define BYTES(text) .bytes = (text), .size = sizeof(text) - 1

const struct text_case text_cases[] = {
    {"A01", "empty.tns", BYTES(""), .says = "file is empty; expected lines of N indices"},
    {"A02", "only_comments.tns", BYTES("# a\n\n# b\n"), .says = "3 lines and no nonzero"},
    {"A03", "only_blanks.tns", BYTES("   \n\t\n\r\n"), .says = "3 lines and no nonzero"},
    {"A04", "too_few_fields.tns", BYTES(G "1 1 1\n"), .says = "3 fields; expected 4", .line = 4},
    {"A05", "too_many_fields.tns", BYTES(G "1 1 1 1 1.0\n"), .says = "5 fields; expected 4",
     .line = 4},
    {"A06", "one_field.tns", BYTES("5\n"), .says = "expected an index and a value", .line = 1},
    {"A07", "order1.tns", BYTES("3 1.5\n1 2.5\n"), .equals = "1 2.5\n3 1.5\n"},
    {"A08", "order65.tns", .build = order_65, .says = "65 indices; expected at most 16", .line = 1},
    {"A09", "hundred_thousand_fields.tns", .build = hundred_thousand_fields,
     .says = "indices; expected at most 16", .line = 1},
    {"A10", "no_last_line_end.tns", BYTES("1 1 1 1.0\n1 2 1 2.0\n2 1 2 3.0")},
    {"A11", "cut_mid_line.tns", BYTES(G "2 2"),
     .says = "this is the last line: the file may be truncated", .line = 4},
    {"A12", "cut_mid_number.tns", BYTES(G "2 2 2 1e"), .says = "'1e' is no number", .line = 4},
    {"A13", "crlf.tns",
     BYTES("1 1 1 1.0\r\n1 2 1 2.0\r\n2 1 2 3.0\r\n1 1 1 1.0\r\n1 2 1 2.0\r\n2 1 2 3.0\r\n"),
     .equals = "1 1 1 2\n1 2 1 4\n2 1 2 6\n"},
    {"A14", "cr_only.tns", BYTES("1 1 1 1.0\r1 2 1 2.0\r2 1 2 3.0\r"), .says = "old Mac",
     .line = 1},
    {"A15", "mixed_eol.tns", BYTES("1 1 1 1.0\r\n1 2 1 2.0\n\r\n2 1 2 3.0\r\n")},
    {"A16", "bom.tns", BYTES("\xef\xbb\xbf" G)},
    {"A17", "utf16le.tns",
     BYTES("\xff\xfe"
           "1\0 \0"
           "1\0 \0"
           "1\0 \0"
           "1\0.\0"
           "0\0\n\0"),
     .says = "UTF-16 text; expected UTF-8", .line = 1},
    {"A17b", "utf16be.tns",
     BYTES("\xfe\xff\0"
           "1\0 \0"
           "1\0 \0"
           "1\0.\0"
           "0\0\n"),
     .says = "UTF-16 text; expected UTF-8", .line = 1},
    {"A18", "blanks_tabs.tns", BYTES("\t 1   1\t1 \t 1.0  \n 1 2 1 2.0\t\n"),
     .equals = "1 1 1 1\n1 2 1 2\n"},
    {"A19", "nbsp.tns",
     BYTES("1\xc2\xa0"
           "1 1 1.0\n"),
     .says = "'\\xc2\\xa01 '", .line = 1},
    {"A20", "vt_ff.tns",
     BYTES("1\x0b"
           "1\x0c"
           "1 1.0\n"),
     .says = "control byte '\\x0b'", .line = 1},
    {"A21", "commas.tns", BYTES("1,1,1,1.0\n2,2,2,2.0\n"), .says = "name the file .csv", .line = 1},
    {"A21b", "commas_blanks.tns", BYTES("1, 1, 1, 1.0\n"), .says = "for CSV", .line = 1},
    {"A22", "trailing_comment.tns", BYTES("1 1 1 1.0 # c\n1 2 1 2.0# 7\n2 1 2 3.0\t#\n")},
    {"A23", "indented_comment.tns", BYTES("   # c\n" G)},
    {"A24", "matrixmarket.tns",
     BYTES("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n2 2 2.0\n"),
     .says = "MatrixMarket", .line = 1},
    {"A25", "parti_header.tns", BYTES("3\n2 2 2\n1 1 1 1.0\n2 2 2 2.0\n"), .says = "HiParTI",
     .line = 1},
    {"A26", "toolbox_in_tns.tns", BYTES("sptensor\n3\n2 2 2\n2\n1 1 1 1.0\n2 2 2 2.0\n"),
     .equals = "1 1 1 1\n2 2 2 2\n"},
    {"A27", "nul_mid_line.tns",
     BYTES(G "1 1\0"
             "1 1.0\n"),
     .says = "NUL byte", .line = 4},
    {"A28", "nul_after_end.tns", BYTES(G "\0\0\0\0"), .says = "NUL byte", .line = 4},
    {"A29", "nuls_64k.tns", .build = nuls, .says = "NUL byte", .line = 1},
    {"A30", "all_bytes.tns", .build = all_bytes, .says = "'\\x00'", .line = 1},
    {"A31", "png.tns", .build = png, .says = "binary data", .line = 1},
    {"A32", "digits_1MiB.tns", .build = digits_1mib,
     .says = "'1111111111111111111111111111111111111111...'", .line = 1},
    {"A33", "long_line.tns", .build = long_line, .says = "at least", .line = 1},
    {"A34", "long_blanks.tns", .build = long_blanks, .says = "fields; expected 4", .line = 4},
    {"A35", "long_comment.tns", .build = long_comment},
    {"A35b", "long_trailing_comment.tns", .build = long_trailing_comment},
    {"A36", "terminal_escape.tns", BYTES(G "1 1 1 \x1b]0;owned\x07\x1b[2J\n"), .says = "'\\x1b'",
     .line = 4},
    {"A37", "format_string.tns", BYTES(G "1 1 1 %n%s%n%s\n"), .says = "'%n%s%n%s'", .line = 4},
    {"A38", "bad_utf8.tns", BYTES(G "1 1 1 \xff\xfe\xc0\n"), .says = "'\\xff\\xfe\\xc0'",
     .line = 4},
    {"A39", "order_changes.tns", .build = order_changes, .says = "5 fields; expected 4",
     .line = 1001},
    {"A40", "errors_far_apart.tns", .build = errors_far_apart, .says = "'x' is no index",
     .line = 20001},

    {"B01", "zero_based.tns", BYTES("0 0 0 1.0\n1 1 1 2.0\n"), .says = "--index-base 0", .line = 1},
    {"B02", "zero_late.tns", .build = zero_late, .says = "index 0 in mode 1", .line = 3001},
    {"B03", "negative.tns", BYTES(G "-1 1 1 1.0\n"), .says = "'-1' is no index", .line = 4},
    {"B04", "plus.tns", BYTES("+1 +1 +1 +1.0\n"), .equals = "1 1 1 1\n"},
    {"B05", "float_integral.tns",
     BYTES("1.000000000000000000e+00 2.000000000000000000e+00 1.0 1.5\n"), .equals = "1 2 1 1.5\n"},
    {"B06", "float_index.tns", BYTES(G "1.5 1 1 1.0\n"), .says = "'1.5' is no index", .line = 4},
    {"B07", "hex_index.tns", BYTES(G "0x10 1 1 1.0\n"), .says = "'0x10' is no index", .line = 4},
    {"B08", "leading_zeros.tns", BYTES("010 0001 1 1.0\n"), .equals = "10 1 1 1\n"},
    {"B09", "many_zeros.tns", .build = many_zeros, .equals = "7 1 1 1\n"},
    {"B10a", "index_2147483647.tns", BYTES("2147483647 1 1 1.0\n1 1 1 2.0\n"),
     .equals = "1 1 1 2\n2147483647 1 1 1\n"},
    {"B10b", "index_2147483648.tns", BYTES("2147483648 1 1 1.0\n1 1 1 2.0\n"),
     .equals = "1 1 1 2\n2147483648 1 1 1\n"},
    {"B10d", "index_4294967295.tns", BYTES("4294967295 1 1 1.0\n1 1 1 2.0\n"),
     .equals = "1 1 1 2\n4294967295 1 1 1\n"},
    {"B10e", "index_4294967296.tns", BYTES("4294967296 1 1 1.0\n1 1 1 2.0\n"),
     .equals = "1 1 1 2\n4294967296 1 1 1\n"},
    {"B10f", "index_4294967297.tns", BYTES("4294967297 1 1 1.0\n1 1 1 2.0\n"),
     .equals = "1 1 1 2\n4294967297 1 1 1\n"},
    {"B11", "index_2p63m1.tns", BYTES("9223372036854775807 1 1 1.0\n"),
     .equals = "9223372036854775807 1 1 1\n"},
    {"B12", "index_2p63.tns", BYTES("9223372036854775808 1 1 1.0\n"),
     .says = "'9223372036854775808' in mode 1; expected at most 9223372036854775807", .line = 1},
    {"B13", "index_2p64.tns", BYTES("18446744073709551616 1 1 1.0\n"), .says = "expected at most",
     .line = 1},
    {"B14", "index_2p64p1.tns", BYTES("18446744073709551617 1 1 1.0\n"), .says = "expected at most",
     .line = 1},
    {"B15", "index_1e30.tns", BYTES("1000000000000000000000000000000 1 1 1.0\n"),
     .says = "'1000000000000000000000000000000'", .line = 1},
    {"B16", "dims_product_overflow.tns",
     BYTES("2147483648 2147483648 2147483648 2147483648 2147483648 1.0\n1 1 1 1 1 2.0\n"),
     .equals = "1 1 1 1 1 2\n2147483648 2147483648 2147483648 2147483648 2147483648 1\n"},
    {"B17", "one_nonzero.tns", BYTES("1 1 1 5.0\n"), .equals = "1 1 1 5\n"},
    {"B18", "huge_gap.tns", BYTES("1 1 1 1.0\n1000000000 1 1 2.0\n"),
     .equals = "1 1 1 1\n1000000000 1 1 2\n"},
    {"B20", "cancelling.tns", BYTES("1 1 1 1.0\n1 1 1 -1.0\n2 2 2 1.0\n"), .equals = "2 2 2 1\n"},
    {"B21", "reversed.tns", BYTES("2 1 2 3.0\n1 2 1 2.0\n1 1 1 1.0\n")},
    {"B22", "tt_index_over_dims.txt", BYTES("sptensor\n3\n2 2 2\n2\n1 1 1 1.0\n3 1 1 2.0\n"),
     .says = "index '3' in mode 1; expected at most 2", .line = 6},
    {"B23", "tt_fewer_nnz.txt", BYTES("sptensor\n3\n2 2 2\n3\n1 1 1 1.0\n2 2 2 2.0\n"),
     .says = "2 nonzeros; expected the 3 that the header declares"},
    {"B24", "tt_more_nnz.txt", BYTES("sptensor\n3\n2 2 2\n1\n1 1 1 1.0\n2 2 2 2.0\n"),
     .says = "more nonzeros than the 1 that the header declares", .line = 6},
    {"B25", "tt_not_a_number.txt", BYTES("sptensor\nthree\n2 2 2\n1\n1 1 1 1.0\n"),
     .says = "'three'", .line = 2},
    {"B26", "tt_huge_nnz_overflow.txt",
     BYTES("sptensor\n3\n2 2 2\n2305843009213693952\n1 1 1 1.0\n"),
     .says = "1 nonzeros; expected the 2305843009213693952"},
    {"B27", "tt_order_mismatch.txt", BYTES("sptensor\n4\n2 2 2\n1\n1 1 1 1.0\n"), .says = "4",
     .line = 3},
    {"B28", "tt_negative_dims.txt", BYTES("sptensor\n3\n2 -2 2\n1\n1 1 1 1.0\n"), .says = "'-2'",
     .line = 3},
    {"B29", "tt_zero_dim.txt", BYTES("sptensor\n3\n2 0 2\n0\n"), .says = "'0'", .line = 3},
    {"B30", "tt_bad_type.txt", BYTES("sptensr\n3\n2 2 2\n1\n1 1 1 1.0\n"), .says = "sptensor",
     .line = 1},
    {"B31", "tt_header_only.txt", BYTES("sptensor\n3\n"), .says = "the file ends here", .line = 3},
    {"B32", "tt_other_kind.txt", BYTES("ktensor\n3\n2 2 2\n1\n1\n"), .says = "ktensor", .line = 1},
    {"B33", "tt_crlf.txt", BYTES("sptensor\r\n3\r\n1 1 1\r\n1\r\n1 1 1 1.0\r\n"),
     .equals = "1 1 1 1\n"},

    {"C01a", "nonfinite_0.tns", BYTES(G "2 2 2 nan\n"), .says = "'nan' is not a finite", .line = 4},
    {"C01b", "nonfinite_1.tns", BYTES(G "2 2 2 NaN\n"), .says = "'NaN' is not a finite", .line = 4},
    {"C01c", "nonfinite_2.tns", BYTES(G "2 2 2 -nan\n"), .says = "'-nan'", .line = 4},
    {"C01d", "nonfinite_3.tns", BYTES(G "2 2 2 nan(0x7)\n"), .says = "'nan(0x7)'", .line = 4},
    {"C01e", "nonfinite_4.tns", BYTES(G "2 2 2 inf\n"), .says = "'inf' is not a finite", .line = 4},
    {"C01f", "nonfinite_5.tns", BYTES(G "2 2 2 -inf\n"), .says = "'-inf' is not a finite",
     .line = 4},
    {"C01g", "nonfinite_6.tns", BYTES(G "2 2 2 -Infinity\n"), .says = "'-Infinity'", .line = 4},
    {"C01h", "nonfinite_7.tns", BYTES(G "2 2 2 1e400\n"), .says = "'1e400' is not finite",
     .line = 4},
    {"C01i", "nonfinite_8.tns", BYTES(G "2 2 2 -1e999\n"), .says = "'-1e999' is not finite",
     .line = 4},
    {"C02", "subnormal.tns", BYTES(G "2 2 2 4.9406564584124654e-324\n1 1 2 1e-310\n"),
     .equals = "1 1 1 1\n1 1 2 1e-310\n1 2 1 2\n2 1 2 3\n2 2 2 4.9406564584124654e-324\n"},
    {"C03", "underflow.tns", BYTES(G "2 2 2 1e-400\n")},
    {"C05", "zeros.tns", BYTES("1 1 1 0\n1 2 1 0.0\n2 1 1 -0.0\n2 2 2 1\n"), .equals = "2 2 2 1\n"},
    {"C07", "decimal_comma.tns", BYTES("1 1 1 1,5\n"), .says = "decimal point, not a comma",
     .line = 1},
    {"C08", "locale_point.tns", BYTES("1 1 1 1.5\n1 2 1 2.25\n"),
     .equals = "1 1 1 1.5\n1 2 1 2.25\n"},
    {"C09", "hex_float.tns", BYTES(G "2 2 2 0x1.8p1\n"), .says = "'0x1.8p1' is no number",
     .line = 4},
    {"C11a", "badnum_00.tns", BYTES(G "2 2 2 1e\n"), .says = "'1e' is no number", .line = 4},
    {"C11b", "badnum_01.tns", BYTES(G "2 2 2 1e+\n"), .says = "'1e+' is no number", .line = 4},
    {"C11c", "badnum_02.tns", BYTES(G "2 2 2 .\n"), .says = "'.' is no number", .line = 4},
    {"C11d", "badnum_03.tns", BYTES(G "2 2 2 -\n"), .says = "'-' is no number", .line = 4},
    {"C11e", "badnum_04.tns", BYTES(G "2 2 2 +\n"), .says = "'+' is no number", .line = 4},
    {"C11f", "badnum_05.tns", BYTES(G "2 2 2 e5\n"), .says = "'e5' is no number", .line = 4},
    {"C11g", "badnum_06.tns", BYTES(G "2 2 2 1..2\n"), .says = "'1..2' is no number", .line = 4},
    {"C11h", "badnum_07.tns", BYTES(G "2 2 2 1.2.3\n"), .says = "'1.2.3' is no number", .line = 4},
    {"C11i", "badnum_08.tns", BYTES(G "2 2 2 --1\n"), .says = "'--1' is no number", .line = 4},
    {"C11j", "badnum_09.tns", BYTES(G "2 2 2 1_000\n"), .says = "'1_000' is no number", .line = 4},
    {"C11k", "badnum_10.tns", BYTES(G "2 2 2 1'000\n"), .says = "is no number", .line = 4},
    {"C11l", "badnum_11.tns", BYTES(G "2 2 2 1d5\n"), .says = "'1d5' is no number", .line = 4},
    {"C11m", "badnum_12.tns", BYTES(G "2 2 2 1.0f\n"), .says = "'1.0f' is no number", .line = 4},
    {"C11n", "badnum_13.tns", BYTES(G "2 2 2 0b1\n"), .says = "'0b1' is no number", .line = 4},
    {"C11o", "badnum_14.tns", BYTES(G "2 2 2 1e5.5\n"), .says = "'1e5.5' is no number", .line = 4},
    {"C11p", "badnum_15.tns", BYTES(G "2 2 2 1 .5\n"), .says = "5 fields; expected 4", .line = 4},
    {"C12a", "oddnum_0.tns", BYTES(G "2 2 2 .5\n"),
     .equals = "1 1 1 1\n1 2 1 2\n2 1 2 3\n2 2 2 .5\n"},
    {"C12b", "oddnum_1.tns", BYTES(G "2 2 2 5.\n"),
     .equals = "1 1 1 1\n1 2 1 2\n2 1 2 3\n2 2 2 5\n"},
    {"C12c", "oddnum_2.tns", BYTES(G "2 2 2 1E5\n"),
     .equals = "1 1 1 1\n1 2 1 2\n2 1 2 3\n2 2 2 100000\n"},
    {"C12d", "oddnum_3.tns", BYTES(G "2 2 2 +.5e-1\n"),
     .equals = "1 1 1 1\n1 2 1 2\n2 1 2 3\n2 2 2 .05\n"},
    {"C12e", "oddnum_4.tns", BYTES(G "2 2 2 -0.0e0\n")},
    {"C12f", "oddnum_5.tns", BYTES(G "2 2 2 1e0005\n"),
     .equals = "1 1 1 1\n1 2 1 2\n2 1 2 3\n2 2 2 100000\n"},
    {"C12g", "oddnum_6.tns", BYTES(G "2 2 2 00.5\n"),
     .equals = "1 1 1 1\n1 2 1 2\n2 1 2 3\n2 2 2 .5\n"},
    {"C13", "long_value.tns", .build = long_value, .says = "3002 bytes; expected at most 2048",
     .line = 4},
    {"C14", "halfway.tns",
     BYTES("1 1 1 9007199254740993\n1 1 2 2.2250738585072011e-308\n"
           "1 1 3 0.500000000000000166533453693773481063544750213623046875\n"
           "1 1 4 9214843084008499\n1 1 5 7.2057594037927933e16\n1 1 6 12345678901234567890\n"
           "1 1 7 1.7976931348623157e308\n1 1 8 6250000000000000000000000000000000e-12\n"),
     .equals = "1 1 1 9007199254740993\n1 1 2 2.2250738585072011e-308\n"
               "1 1 3 0.500000000000000166533453693773481063544750213623046875\n"
               "1 1 4 9214843084008499\n1 1 5 7.2057594037927933e16\n1 1 6 12345678901234567890\n"
               "1 1 7 1.7976931348623157e308\n1 1 8 6250000000000000000000000000000000e-12\n"},
    {"C15a", "missing_0.tns", BYTES(G "2 2 2 NA\n"), .says = "leave out lines", .line = 4},
    {"C15b", "missing_1.tns", BYTES(G "2 2 2 null\n"), .says = "leave out lines", .line = 4},
    {"C15c", "missing_2.tns", BYTES(G "2 2 2 ?\n"), .says = "leave out lines", .line = 4},
    {"C15d", "missing_3.tns", BYTES(G "2 2 2 \"\"\n"), .says = "leave out lines", .line = 4},
    {"C15f", "missing_5.tns", BYTES(G "2 2 2 None\n"), .says = "leave out lines", .line = 4},
    {"C15g", "missing_6.tns", BYTES(G "2 2 2 -\n"), .says = "leave out lines", .line = 4},
    {"C16", "complex.tns", BYTES(G "2 2 2 1+2i\n"), .says = "no real number", .line = 4},
    {"C17", "percent.tns", BYTES(G "2 2 2 50%\n"), .says = "'50%' is no number", .line = 4},
    {"C18", "negative_for_apr.tns", BYTES(G "2 2 2 -1\n"),
     .equals = "1 1 1 1\n1 2 1 2\n2 1 2 3\n2 2 2 -1\n"},
    {"C20", "tiny_values.tns", BYTES("1 1 1 1e-300\n2 2 2 2e-300\n"),
     .equals = "1 1 1 1e-300\n2 2 2 2e-300\n"},
    {"C21", "mixed_scale.tns", BYTES("1 1 1 1e150\n2 2 2 1e-150\n"),
     .equals = "1 1 1 1e150\n2 2 2 1e-150\n"},

    {"D01", "empty.tns.gz", BYTES(""), .says = "file is empty"},
    {"D01b", "gzip_of_nothing.tns.gz", .build = gzip_of_nothing, .says = "file is empty"},
    {"D02", "truncated.tns.gz", .build = cut_half, .says = "compressed data ends early"},
    {"D03", "truncated_trailer.tns.gz", .build = cut_trailer, .says = "compressed data ends early"},
    {"D04", "truncated_header.tns.gz", .build = cut_header, .says = "compressed data ends early"},
    {"D05", "bad_isize.tns.gz", .build = bad_size, .says = "corrupt gzip data"},
    {"D05b", "bad_crc.tns.gz", .build = bad_check, .says = "corrupt gzip data"},
    {"D06", "bitflip_mid.tns.gz", .build = bit_flip, .says = "corrupt gzip data"},
    {"D07", "trailing_garbage.tns.gz", .build = trailing_garbage,
     .says = "data after the end of the compressed data"},
    {"D08", "trailing_zeros.tns.gz", .build = trailing_zeros},
    {"D08b", "garbage_after_zeros.tns.gz", .build = garbage_after_zeros,
     .says = "data after the end of the compressed data"},
    {"D09", "multi_member.tns.gz", .build = two_members},
    {"D11", "empty_last_member.tns.gz", .build = empty_last_member},
    {"D12", "plain_named.tns.gz", BYTES(G)},
    {"D13", "gzip_named.tns", .build = good_gzip},
    {"D14", "double.tns.gz", .build = packed_twice, .says = "compressed twice", .line = 1},
    {"D15", "fname_traversal.tns.gz", .build = stored_name},
    {"D16", "error_inside.tns.gz", .build = packed_error, .says = "'oops' is no index", .line = 4},
    {"D16b", "error_before_cut.tns.gz", .build = error_before_cut, .says = "'oops' is no index",
     .line = 4},
    {"D17", "reserved_flags.tns.gz", BYTES("\x1f\x8b\x08\xe0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0"),
     .says = "corrupt gzip data"},
    {"D18", "method_7.tns.gz", BYTES("\x1f\x8b\x07\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0"),
     .says = "corrupt gzip data"},
    {"D19", "zstd.tns.zst", BYTES("(\xb5/\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
     .says = "compressed data ends"},
    {"D20", "xz.tns.xz",
     BYTES("\xfd"
           "7zXZ\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
     .says = "compressed by xz"},
    {"D20b", "bzip2.tns.bz2", BYTES("BZh91AY&SY\0\0\0\0"), .says = "compressed by bzip2"},
    {"D21", "bomb_of_nuls.tns.gz", .build = bomb_of_nuls, .says = "NUL byte", .line = 1},
};

const size_t text_case_count = sizeof text_cases / sizeof *text_cases;

void text_case_bytes(const struct text_case *one, struct text_buffer *buffer) {
  *buffer = (struct text_buffer){0};
  if (one->build != NULL)
    one->build(buffer);
  else
    text_append(buffer, one->bytes, one->size);
}
