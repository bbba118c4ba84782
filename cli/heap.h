/* The memory that the C library hands out, from the reading of a tensor on. */
#ifndef CLI_HEAP_H
#define CLI_HEAP_H

/** Before a file is read or sampled, the first time: lets malloc() take blocks of up to a few
 * megabytes from one stretch of address space that the system backs with huge pages, and keep what
 * is freed. A small tensor is read, planned and decomposed in some megabytes: of ordinary pages,
 * each fresh from the system, they are two thousand, whose faults take an eighth of the run's
 * processor time. Memory that no block reaches takes none. A tiny file needs no huge page, and a
 * process whose address space or data are limited has no room to spare: for those it does nothing.
 */
void cli_heap_begin(const char *path);

#endif
