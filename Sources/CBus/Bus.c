#define _GNU_SOURCE
#include "Library.h"

#include <stdbool.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

int lk_bus_open(const char *address, uint64_t patience, lk_bus **bus) {
    if (!lk_bus_is_loaded()) return -ENOSYS;
    lk_bus *opened = NULL;
    int result = lk_libsystemd.sd_bus_new(&opened);
    if (result >= 0) result = lk_libsystemd.sd_bus_set_address(opened, address);
    if (result >= 0) result = lk_libsystemd.sd_bus_set_bus_client(opened, 1);
    if (result >= 0) result = lk_libsystemd.sd_bus_set_method_call_timeout(opened, patience);
    if (result >= 0) result = lk_libsystemd.sd_bus_start(opened);
    if (result < 0) {
        lk_bus_close(opened);
        return result;
    }
    *bus = opened;
    return 0;
}

void lk_bus_close(lk_bus *bus) {
    if (bus != NULL) lk_libsystemd.sd_bus_flush_close_unref(bus);
}

int lk_bus_match(lk_bus *bus, const char *rule) {
    return lk_libsystemd.sd_bus_add_match(bus, NULL, rule, NULL, NULL);
}

// Milliseconds until sd-bus has something to do, rounded up; -1 for no limit.
static int timeout_of(lk_bus *bus) {
    uint64_t end;
    int result = lk_libsystemd.sd_bus_get_timeout(bus, &end);
    if (result < 0) return 0; // sd_bus_process says what is wrong
    if (end == UINT64_MAX) return -1;
    uint64_t time = now();
    if (end <= time) return 0;
    uint64_t milliseconds = (end - time + 999) / 1000;
    return milliseconds > INT_MAX ? INT_MAX : (int)milliseconds;
}

int lk_bus_next(lk_bus *bus, int wake, int patience, lk_bus_message **signal) {
    for (;;) {
        lk_bus_message *message = NULL;
        int result = lk_libsystemd.sd_bus_process(bus, &message);
        if (result < 0) return result;
        if (message != NULL) {
            if (lk_libsystemd.sd_bus_message_is_signal(message, NULL, NULL) > 0) {
                *signal = message;
                return 1;
            }
            lk_libsystemd.sd_bus_message_unref(message);
        }
        if (result > 0) continue;
        int events = lk_libsystemd.sd_bus_get_events(bus);
        if (events < 0) return events;
        struct pollfd ready[] = {
            {.fd = lk_libsystemd.sd_bus_get_fd(bus), .events = (short)events},
            {.fd = wake, .events = POLLIN},
        };
        int limit = timeout_of(bus);
        bool is_bounded = patience >= 0 && (limit < 0 || limit > patience);
        int count = poll(ready, 2, is_bounded ? patience : limit);
        if (count < 0 && errno != EINTR) return -errno;
        if (ready[1].revents != 0 || (count == 0 && is_bounded)) return 0;
    }
}

int lk_bus_new_call(lk_bus *bus, const char *destination, const char *path, const char *interface, const char *member,
                    lk_bus_message **call) {
    return lk_libsystemd.sd_bus_message_new_method_call(bus, call, destination, path, interface, member);
}

int lk_bus_send(lk_bus *bus, lk_bus_message *call, lk_bus_message **reply, char *name, int room) {
    lk_bus_error error = {0};
    // 0 for the connection's own patience.
    int result = lk_libsystemd.sd_bus_call(bus, call, 0, &error, reply);
    snprintf(name, (size_t)room, "%s", error.name == NULL ? "" : error.name);
    lk_libsystemd.sd_bus_error_free(&error);
    return result;
}

void lk_bus_release(lk_bus_message *message) { lk_libsystemd.sd_bus_message_unref(message); }

const char *lk_bus_sender(lk_bus_message *message) { return lk_libsystemd.sd_bus_message_get_sender(message); }
const char *lk_bus_path(lk_bus_message *message) { return lk_libsystemd.sd_bus_message_get_path(message); }
const char *lk_bus_interface(lk_bus_message *message) { return lk_libsystemd.sd_bus_message_get_interface(message); }
const char *lk_bus_member(lk_bus_message *message) { return lk_libsystemd.sd_bus_message_get_member(message); }

int lk_bus_append(lk_bus_message *message, char type, const void *value) {
    return lk_libsystemd.sd_bus_message_append_basic(message, type, value);
}

int lk_bus_begin(lk_bus_message *message, char type, const char *contents) {
    return lk_libsystemd.sd_bus_message_open_container(message, type, contents);
}

int lk_bus_end(lk_bus_message *message) { return lk_libsystemd.sd_bus_message_close_container(message); }

int lk_bus_peek(lk_bus_message *message, char *type, const char **contents) {
    return lk_libsystemd.sd_bus_message_peek_type(message, type, contents);
}

int lk_bus_read(lk_bus_message *message, char type, void *value) {
    return lk_libsystemd.sd_bus_message_read_basic(message, type, value);
}

int lk_bus_enter(lk_bus_message *message, char type, const char *contents) {
    return lk_libsystemd.sd_bus_message_enter_container(message, type, contents);
}

int lk_bus_leave(lk_bus_message *message) { return lk_libsystemd.sd_bus_message_exit_container(message); }
