#include "pam_latchkey.h"
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <security/pam_ext.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

enum { MOST_GROUPS = 65536 };

// The groups of the user, to be freed; NULL if they are not known.
static gid_t *groups_of(const struct passwd *user, int *count) {
    *count = 64;
    for (gid_t *groups = NULL;;) {
        int room = *count;
        gid_t *larger = reallocarray(groups, (size_t)room, sizeof *groups);
        if (larger) groups = larger;
        if (larger && getgrouplist(user->pw_name, user->pw_gid, groups, count) >= 0) return groups;
        if (!larger || *count <= room || *count > MOST_GROUPS) {
            free(groups);
            return NULL;
        }
    }
}

// Starts the child as a grandchild, so that this process gets no child to wait for later. False with errno.
static bool start(const struct child *child) {
    // The host's handlers must not see the end of the child between, nor run in it.
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    struct sigaction host;
    sigset_t most, mask;
    sigfillset(&most);
    sigdelset(&most, SIGCHLD);
    if (sigaction(SIGCHLD, &standard, &host) != 0) return false;
    pthread_sigmask(SIG_BLOCK, &most, &mask);
    pid_t between = _Fork();
    if (between == 0) {
        pid_t started = _Fork();
        if (started == 0) run_child(child);
        _exit(started < 0 ? errno : 0);
    }
    int error = between < 0 ? errno : 0, status = 0;
    if (between > 0) {
        pid_t ended;
        while ((ended = waitpid(between, &status, 0)) < 0 && errno == EINTR) continue;
        // Another thread may have waited for it: then its status is not known, and the program's output tells.
        if (ended == between) error = WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    sigaction(SIGCHLD, &host, NULL);
    errno = error;
    return error == 0;
}

static int64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// Reads until the end of the file or the deadline. What does not fit is dropped.
static enum outcome take_answer(int output, unsigned seconds, char *answer, size_t *size) {
    const size_t room = *size;
    const int64_t end = milliseconds() + (int64_t)seconds * 1000;
    *size = 0;
    for (;;) {
        int64_t left = end - milliseconds();
        struct pollfd ready = {.fd = output, .events = POLLIN};
        int found = left > 0 ? poll(&ready, 1, (int)left) : 0;
        if (found < 0 && errno == EINTR) continue;
        if (found <= 0) return GOES_ON;
        char rest[256];
        bool fits = *size < room;
        ssize_t count = read(output, fits ? answer + *size : rest, fits ? room - *size : sizeof rest);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return ENDED;
        if (fits) *size += (size_t)count;
    }
}

// A pipe that holds the secret, with its writing end closed; -1 with errno.
static int pipe_with(const struct iovec *parts, int count) {
    int ends[2];
    size_t size = 0;
    for (int index = 0; index < count; index++) size += parts[index].iov_len;
    // A pipe has room for a page even if its user is over the limit of pages: this write never waits.
    if (size > 4096) return errno = EMSGSIZE, -1;
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    ssize_t written = writev(ends[1], parts, count);
    int error = written < 0 ? errno : EIO;
    close(ends[1]);
    if (written == (ssize_t)size) return ends[0];
    close(ends[0]);
    return errno = error, -1;
}

enum outcome hand_over(pam_handle_t *pamh, const struct options *options, const struct passwd *user, const char *word,
                       const struct iovec *parts, int count, unsigned seconds, char *answer, size_t *size) {
    struct child child = {.program = options->program, .user = user->pw_uid, .group = user->pw_gid, .output = -1};
    char host[24], *variables[3] = {NULL};
    int output[2] = {-1, -1};
    enum outcome outcome = NOT_RUN;
    const char *problem = NULL;
    snprintf(host, sizeof host, "%ld", (long)getpid());
    child.becomes_user = geteuid() == 0;
    child.input = pipe_with(parts, count);
    if (child.input < 0 || (seconds > 0 && pipe2(output, O_CLOEXEC) != 0)) problem = "making a pipe";
    child.output = output[1];
    if (!problem && child.becomes_user && !(child.groups = groups_of(user, &child.group_count)))
        problem = "reading the groups of the user";
    if (!problem && (asprintf(&variables[0], "HOME=%s", user->pw_dir) < 0 ||
                     asprintf(&variables[1], "USER=%s", user->pw_name) < 0 ||
                     asprintf(&variables[2], "LOGNAME=%s", user->pw_name) < 0))
        problem = "making the environment";
    if (!problem) {
        const char *arguments[] = {"latchkey", "---login", word, host, NULL};
        const char *environment[] = {variables[0], variables[1], variables[2], "PATH=/usr/bin:/bin", "LANG=C.UTF-8",
                                     NULL};
        child.arguments = (char *const *)arguments;
        child.environment = (char *const *)environment;
        if (!start(&child)) problem = "starting a process";
    }
    int error = errno;
    if (child.input >= 0) close(child.input);
    if (output[1] >= 0) close(output[1]);
    if (problem) {
        pam_syslog(pamh, LOG_ERR, "no vault of %s was asked: %s: %s", user->pw_name, problem, strerror(error));
    } else if (seconds == 0) {
        outcome = GOES_ON;
    } else {
        outcome = take_answer(output[0], seconds, answer, size);
        if (outcome == ENDED && *size == 1 && answer[0] == NOT_EXECUTED) {
            pam_syslog(pamh, LOG_ERR, "no vault of %s was asked: %s cannot be run as that user", user->pw_name,
                       options->program);
            outcome = NOT_RUN;
        }
    }
    if (output[0] >= 0) close(output[0]);
    for (int index = 0; index < 3; index++) free(variables[index]);
    free(child.groups);
    return outcome;
}
