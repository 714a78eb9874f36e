// The process between the module and the program.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

// What the output has if the program could not be run.
enum { NOT_EXECUTED = '!' };

struct child {
    const char *program;
    char *const *arguments;
    char *const *environment;
    uid_t user;
    gid_t group;
    gid_t *groups;
    int group_count;
    bool becomes_user; // False in a process that is the user's already.
    int input;
    int output; // -1 for /dev/null.
};

// Becomes the user for good and executes the program: with a new session, the descriptors 0 to 2 alone, no other
// variables, default signals, no core file, and SIGALRM as the end of its life. Calls only what is safe after _Fork(3).
_Noreturn void run_child(const struct child *child);
