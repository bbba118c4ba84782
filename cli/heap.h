/* The memory that the C library hands out, from the reading of a tensor on. */
#ifndef CLI_HEAP_H
#define CLI_HEAP_H

/** Before a file is read or sampled, the first time: lets malloc() take blocks of up to a few
 * megabytes from one stretch of address space that the system backs with huge pages, and keep what
 * is freed. A small tensor takes some megabytes to read, plan and decompose. In ordinary pages
 * these are two thousand page faults, a good part of so short a run; in huge pages they are a few.
 * Pages that no block reaches take no memory. Nothing is done for a tiny file, which needs no huge
 * page, nor in a process whose address space or data are limited, which has no room to spare. */
void cli_heap_begin(const char *path);

#endif
