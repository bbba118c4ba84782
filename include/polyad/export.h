/** @file
 *  @brief Marks what the shared library exports. */
#ifndef POLYAD_EXPORT_H
#define POLYAD_EXPORT_H

/** Symbol is part of the library's interface. */
#if defined(__GNUC__) && !defined(POLYAD_STATIC)
#define POLYAD_API __attribute__((visibility("default")))
#else
#define POLYAD_API
#endif

/** The caller must look at the result. */
#if defined(__GNUC__)
#define POLYAD_CHECKED __attribute__((warn_unused_result))
#else
#define POLYAD_CHECKED
#endif

#endif
