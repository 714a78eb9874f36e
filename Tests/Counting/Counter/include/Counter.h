#ifndef COUNTER_H
#define COUNTER_H

#include <stdint.h>

// Calls to malloc(3), to Swift's runtime and for read-write locks since the program began, on all threads.
uint64_t counted_allocations(void);
uint64_t counted_retains(void);
uint64_t counted_locks(void);

// Makes Swift's runtime count. False where the runtime does not allow it.
int count_retains(void);

#endif
