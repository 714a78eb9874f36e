#ifndef LATCHKEY_CBUS_LIBRARY_H
#define LATCHKEY_CBUS_LIBRARY_H

#include "CBus.h"

// The functions used of libsystemd, declared here: none of its headers is needed to build, and its types stay opaque.
// Source: sd-bus(3) and the manual page of each function.

typedef struct {
    const char *name;
    const char *message;
    int need_free;
} lk_bus_error;

#define LK_BUS_FUNCTIONS(F)                                                                                            \
    F(int, sd_bus_new, (lk_bus * *bus))                                                                                \
    F(int, sd_bus_set_address, (lk_bus * bus, const char *address))                                                    \
    F(int, sd_bus_set_bus_client, (lk_bus * bus, int is_client))                                                       \
    F(int, sd_bus_set_method_call_timeout, (lk_bus * bus, uint64_t microseconds))                                      \
    F(int, sd_bus_start, (lk_bus * bus))                                                                               \
    F(lk_bus *, sd_bus_flush_close_unref, (lk_bus * bus))                                                              \
    F(int, sd_bus_add_match, (lk_bus * bus, void **slot, const char *rule, void *callback, void *data))                \
    F(int, sd_bus_process, (lk_bus * bus, lk_bus_message * *message))                                                  \
    F(int, sd_bus_get_fd, (lk_bus * bus))                                                                              \
    F(int, sd_bus_get_events, (lk_bus * bus))                                                                          \
    F(int, sd_bus_get_timeout, (lk_bus * bus, uint64_t * microseconds))                                                \
    F(int, sd_bus_call, (lk_bus * bus, lk_bus_message * call, uint64_t microseconds, lk_bus_error * error,             \
                         lk_bus_message * *reply))                                                                     \
    F(void, sd_bus_error_free, (lk_bus_error * error))                                                                 \
    F(int, sd_bus_message_new_method_call,                                                                             \
      (lk_bus * bus, lk_bus_message * *message, const char *destination, const char *path, const char *interface,      \
       const char *member))                                                                                            \
    F(lk_bus_message *, sd_bus_message_unref, (lk_bus_message * message))                                              \
    F(int, sd_bus_message_is_signal, (lk_bus_message * message, const char *interface, const char *member))            \
    F(const char *, sd_bus_message_get_sender, (lk_bus_message * message))                                             \
    F(const char *, sd_bus_message_get_path, (lk_bus_message * message))                                               \
    F(const char *, sd_bus_message_get_interface, (lk_bus_message * message))                                          \
    F(const char *, sd_bus_message_get_member, (lk_bus_message * message))                                             \
    F(int, sd_bus_message_append_basic, (lk_bus_message * message, char type, const void *value))                      \
    F(int, sd_bus_message_open_container, (lk_bus_message * message, char type, const char *contents))                 \
    F(int, sd_bus_message_close_container, (lk_bus_message * message))                                                 \
    F(int, sd_bus_message_peek_type, (lk_bus_message * message, char *type, const char **contents))                    \
    F(int, sd_bus_message_read_basic, (lk_bus_message * message, char type, void *value))                              \
    F(int, sd_bus_message_enter_container, (lk_bus_message * message, char type, const char *contents))                \
    F(int, sd_bus_message_exit_container, (lk_bus_message * message))

#define LK_BUS_POINTER(result, name, parameters) result(*name) parameters;
typedef struct {
    LK_BUS_FUNCTIONS(LK_BUS_POINTER)
} lk_bus_functions;
#undef LK_BUS_POINTER

/// Set when lk_bus_is_loaded has returned 1.
extern lk_bus_functions lk_libsystemd;

#endif
