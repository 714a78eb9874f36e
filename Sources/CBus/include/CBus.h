#ifndef LATCHKEY_CBUS_H
#define LATCHKEY_CBUS_H

#include <stdint.h>

// D-Bus through sd-bus of libsystemd, which is loaded on first use: the program builds and runs without it.
//
// All functions return a negative errno after a failure. A connection is used by one thread at a time.

/// A connection to a message bus.
typedef struct sd_bus lk_bus;
/// A message, to be written or read.
typedef struct sd_bus_message lk_bus_message;

/// Whether libsystemd.so.0 can be loaded and has all that is needed.
int lk_bus_is_loaded(void);

/// Connects to the bus at an address (D-Bus Specification, "Server Addresses"). Calls over it fail after `patience`.
/// @param patience in microseconds.
int lk_bus_open(const char *address, uint64_t patience, lk_bus **bus);

/// Also sends what was not sent yet.
void lk_bus_close(lk_bus *bus);

/// Asks for all signals that a rule describes. Source: D-Bus Specification, "Match Rules".
int lk_bus_match(lk_bus *bus, const char *rule);

/// Waits for the next signal. 1 with the signal, which the caller releases; 0 if the descriptor `wake` is readable, or
/// after `patience` milliseconds, unless that is negative.
int lk_bus_next(lk_bus *bus, int wake, int patience, lk_bus_message **signal);

/// A method call, which the caller fills, sends and releases.
int lk_bus_new_call(lk_bus *bus, const char *destination, const char *path, const char *interface, const char *member,
                    lk_bus_message **call);

/// Sends a call, and waits for its reply, which the caller releases.
/// @param name gets the name of the D-Bus error, or is empty.
int lk_bus_send(lk_bus *bus, lk_bus_message *call, lk_bus_message **reply, char *name, int room);

void lk_bus_release(lk_bus_message *message);

/// Of a signal: NULL if it has none.
const char *lk_bus_sender(lk_bus_message *message);
const char *lk_bus_path(lk_bus_message *message);
const char *lk_bus_interface(lk_bus_message *message);
const char *lk_bus_member(lk_bus_message *message);

// The body. Types are those of the D-Bus Specification, "Type System".

int lk_bus_append(lk_bus_message *message, char type, const void *value);
int lk_bus_begin(lk_bus_message *message, char type, const char *contents);
int lk_bus_end(lk_bus_message *message);

/// 1 with the type of the next value, and its contents if it is a container; 0 at the end of the container or body.
int lk_bus_peek(lk_bus_message *message, char *type, const char **contents);
int lk_bus_read(lk_bus_message *message, char type, void *value);
int lk_bus_enter(lk_bus_message *message, char type, const char *contents);
int lk_bus_leave(lk_bus_message *message);

#endif
