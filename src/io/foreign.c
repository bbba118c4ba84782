#include "io/foreign.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct magic {
  const char *bytes;
  size_t length;
  const char *what;
};

static const struct magic magics[] = {
    {"\x89HDF\r\n\x1a\n", 8, "this is an HDF5 file"},
    {"\x93NUMPY", 6, "this is a NumPy array (.npy)"},
    {"PK\x03\x04", 4, "this is a zip archive; a NumPy archive is named .npz"},
    {"MATLAB 5.0 MAT-file", 19, "this is a MATLAB .mat file"},
    {"PAR1", 4, "this is a Parquet file"},
    {"ARROW1", 6, "this is an Arrow file"},
    {"\x89PNG\r\n\x1a\n", 8, "this is a PNG image"},
    {"\x7f"
     "ELF",
     4, "this is an ELF program"},
    {"\x1f\x8b", 2, "this is gzip-compressed; decompress it first"},
    {"\x28\xb5\x2f\xfd", 4, "this is zstd-compressed; decompress it first"},
    {"\xfd"
     "7zXZ\x00",
     6, "this is xz-compressed; decompress it first"},
    {"BZh", 3, "this is bzip2-compressed; decompress it first"},
    {"\x89PTN\r\n\x1a\n", 8, "this is a tensor of polyad; name it .ptn"},
    {"\x89PTM\r\n\x1a\n", 8, "this is a model of polyad (.ptm)"},
    {"%%MatrixMarket", 14, "this is a Matrix Market file"},
    {"sptensor", 8, "this is Tensor Toolbox text; name it .txt"},
};

/* SPLATT's binary: int32 kind (0 coordinates, 1 CSF), then two uint64 widths of 4 or 8. */
static bool is_splatt(const unsigned char *bytes, size_t length) {
  if (length < 20) return false;
  int32_t kind;
  uint64_t widths[2];
  memcpy(&kind, bytes, sizeof kind);
  memcpy(widths, bytes + sizeof kind, sizeof widths);
  return (kind == 0 || kind == 1) && (widths[0] == 4 || widths[0] == 8) &&
         (widths[1] == 4 || widths[1] == 8);
}

static bool is_text(const unsigned char *bytes, size_t length) {
  size_t looked = length < 64 ? length : 64;
  for (size_t i = 0; i < looked; ++i)
    if ((bytes[i] < 0x20 && bytes[i] != '\t' && bytes[i] != '\n' && bytes[i] != '\r') ||
        bytes[i] >= 0x7f)
      return false;
  return looked > 0;
}

const char *pd_foreign_format(const void *bytes, size_t length) {
  for (size_t m = 0; m < sizeof magics / sizeof *magics; ++m)
    if (length >= magics[m].length && memcmp(bytes, magics[m].bytes, magics[m].length) == 0)
      return magics[m].what;
  if (is_splatt(bytes, length)) return "this is a SPLATT binary tensor; convert it to .tns first";
  if (is_text(bytes, length)) return "this is text; name it .tns, .txt or .csv";
  return NULL;
}
