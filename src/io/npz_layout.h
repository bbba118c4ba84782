/* The records of zip archives that NumPy's archives consist of (APPNOTE.TXT of PKWARE, 4.3 and
 * 4.5.3), little-endian and packed. */
#ifndef PD_NPZ_LAYOUT_H
#define PD_NPZ_LAYOUT_H

#include <stdint.h>

enum {
  PD_ZIP_LOCAL = 0x04034b50,
  PD_ZIP_CENTRAL = 0x02014b50,
  PD_ZIP_END = 0x06054b50,
  PD_ZIP64_END = 0x06064b50,
  PD_ZIP64_LOCATOR = 0x07064b50,
  PD_ZIP64_FIELD = 1,    /* extra field with sizes of 64 bits */
  PD_ZIP64_VERSION = 45, /* the version of zip that knows it */
  PD_ZIP_DAY = 33        /* 1 January 1980, the first day: the same file every day */
};

#pragma pack(push, 1)
/** What is said of a member twice: before its bytes, and in the directory at the end. */
struct pd_zip_about {
  uint16_t version, flags, method, time, day;
  uint32_t checksum, packed_bytes, bytes;
  uint16_t name_bytes, extra_bytes;
};
/** What stands before the name and the bytes of a member. */
struct pd_zip_local {
  uint32_t signature;
  struct pd_zip_about about;
};
/** The extra field with the sizes, and in the directory the place of the member. */
struct pd_zip64_sizes {
  uint16_t id, field_bytes;
  uint64_t bytes, packed_bytes;
};
/** A member in the directory at the end. */
struct pd_zip_central {
  uint32_t signature;
  uint16_t made_by;
  struct pd_zip_about about;
  uint16_t comment_bytes, disk, internal;
  uint32_t external, offset;
};
/** The end of the directory in 64 bits, where that is, and in 32 bits. */
struct pd_zip_end {
  uint32_t signature64;
  uint64_t end_bytes;
  uint16_t made_by, version;
  uint32_t disk, first_disk;
  uint64_t here, members, directory_bytes, directory;
  uint32_t locator, end_disk;
  uint64_t end;
  uint32_t disks, signature;
  uint16_t disk_16, first_disk_16, here_16, members_16;
  uint32_t directory_bytes_32, directory_32;
  uint16_t comment_bytes;
};
#pragma pack(pop)

#endif
