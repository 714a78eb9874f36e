#ifndef COUNTER_H
#define COUNTER_H

#include <stdint.h>

// Calls to malloc(3) and to Swift's runtime since the program began, on all threads.
uint64_t counted_allocations(void);
uint64_t counted_retains(void);

// Makes Swift's runtime count. False where the runtime does not allow it.
int count_retains(void);

#endif
