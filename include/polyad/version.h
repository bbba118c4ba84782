/** @file
 *  @brief Version of the polyad library.
 *
 *  Semantic versioning: the soname is the major version (while that is 0, major.minor),
 *  so a program keeps working with every library of the same soname. */
#ifndef POLYAD_VERSION_H
#define POLYAD_VERSION_H

#include <polyad/export.h>

#define POLYAD_VERSION_MAJOR 0 /**< incompatible changes of the interface */
#define POLYAD_VERSION_MINOR 1 /**< additions; while major is 0 also incompatible changes */
#define POLYAD_VERSION_PATCH 0 /**< corrections */

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the library that is loaded, as "major.minor.patch". Never NULL, never freed. */
POLYAD_API const char *polyad_version(void);

#ifdef __cplusplus
}
#endif
#endif
