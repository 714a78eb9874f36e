#ifndef COUNTER_H
#define COUNTER_H

#include <stdint.h>

// What the program has asked malloc(3) and Swift's runtime for since it began, on all threads.
uint64_t counted_allocations(void);
uint64_t counted_retains(void);

// Has Swift's runtime count. False where it does not let us.
int count_retains(void);

#endif
