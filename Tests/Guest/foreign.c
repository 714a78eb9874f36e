// What a program of another user can do to an agent. Each mode goes on until its standard input ends.
//
// foreign flood NAME BYTES: sends signals to the connection NAME of the system bus without a pause, as fast as the bus
// takes them. Each looks as if logind had sent it; in its body is a text of BYTES bytes. It prints how many it sent.
// Source: the D-Bus Specification, "Message Protocol" and "Authentication Protocol".
//
// foreign silent FOLDER COUNT: makes COUNT sockets there, as daemons have them, that let each program connect and never
// answer. It prints a line when all are there.
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int input_has_ended(void) {
    struct pollfd input = {.fd = 0, .events = POLLIN};
    char byte;
    return poll(&input, 1, 0) > 0 && read(0, &byte, 1) <= 0;
}

static struct sockaddr_un address(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return address;
}

// A message as it is written, little endian.
struct message {
    unsigned char *bytes;
    size_t count;
};

static void number(struct message *message, uint32_t number) {
    while (message->count % 4) message->bytes[message->count++] = 0;
    memcpy(message->bytes + message->count, &number, 4);
    message->count += 4;
}

// A header field: its code, the signature of its value, the value.
static void field(struct message *message, char code, char type, const char *text) {
    while (message->count % 8) message->bytes[message->count++] = 0;
    const unsigned char head[] = {(unsigned char)code, 1, (unsigned char)type, 0};
    memcpy(message->bytes + message->count, head, sizeof head);
    message->count += sizeof head;
    if (type == 'g') message->bytes[message->count++] = (unsigned char)strlen(text);
    else number(message, (uint32_t)strlen(text));
    memcpy(message->bytes + message->count, text, strlen(text) + 1);
    message->count += strlen(text) + 1;
}

// type: 1 is a call, 4 a signal. bytes: of the text in its body.
static struct message make(char type, const char *to, const char *path, const char *interface, const char *member,
                           size_t bytes) {
    struct message message = {calloc(1, bytes + 4096), 0};
    const unsigned char start[] = {'l', (unsigned char)type, 0, 1};
    memcpy(message.bytes, start, sizeof start);
    message.count = sizeof start;
    number(&message, bytes ? (uint32_t)bytes + 5 : 0);
    number(&message, 1);
    number(&message, 0);
    field(&message, 6, 's', to);
    field(&message, 1, 'o', path);
    field(&message, 2, 's', interface);
    field(&message, 3, 's', member);
    if (bytes) field(&message, 8, 'g', "s");
    uint32_t fields = (uint32_t)message.count - 16;
    memcpy(message.bytes + 12, &fields, 4);
    while (message.count % 8) message.bytes[message.count++] = 0;
    if (bytes) {
        number(&message, (uint32_t)bytes);
        memset(message.bytes + message.count, 'x', bytes);
        message.count += bytes;
        message.bytes[message.count++] = 0;
    }
    return message;
}

static int write_all(int bus, const void *bytes, size_t count) {
    for (size_t done = 0; done < count;) {
        ssize_t written = write(bus, (const char *)bytes + done, count - done);
        if (written <= 0) return -1;
        done += (size_t)written;
    }
    return 0;
}

static int flood(const char *name, size_t bytes) {
    int bus = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un system_bus = address("/run/dbus/system_bus_socket");
    char digits[16], line[64], reply[256];
    int count = snprintf(digits, sizeof digits, "%u", getuid());
    size_t length = (size_t)snprintf(line, sizeof line, "%cAUTH EXTERNAL ", 0);
    for (int at = 0; at < count; at++) {
        length += (size_t)snprintf(line + length, sizeof line - length, "%02x", (unsigned)digits[at]);
    }
    length += (size_t)snprintf(line + length, sizeof line - length, "\r\n");
    if (connect(bus, (struct sockaddr *)&system_bus, sizeof system_bus) || write_all(bus, line, length)) return 2;
    if (read(bus, reply, sizeof reply) < 2 || strncmp(reply, "OK", 2) || write_all(bus, "BEGIN\r\n", 7)) return 3;
    struct message hello =
        make(1, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello", 0);
    if (write_all(bus, hello.bytes, hello.count)) return 4;
    struct message signal =
        make(4, name, "/org/freedesktop/login1", "org.freedesktop.login1.Manager", "SessionNew", bytes);
    size_t many = bytes ? 1 : 500, sent = 0;
    unsigned char *all = malloc(many * signal.count);
    for (size_t at = 0; at < many; at++) memcpy(all + at * signal.count, signal.bytes, signal.count);
    while (!input_has_ended()) {
        if (write_all(bus, all, many * signal.count)) return 5;
        sent += many;
        // What the bus answers, such as that a signal was refused.
        while (recv(bus, reply, sizeof reply, MSG_DONTWAIT) > 0) {}
    }
    printf("%zu signals\n", sent);
    return 0;
}

static int hold(const char *folder, int count) {
    if (mkdir(folder, 0700) && access(folder, W_OK)) return 2;
    for (int number = 0; number < count; number++) {
        char path[100];
        snprintf(path, sizeof path, "%s/%032x.socket", folder, (unsigned)number);
        int listener = socket(AF_UNIX, SOCK_STREAM, 0);
        struct sockaddr_un socket_address = address(path);
        if (bind(listener, (struct sockaddr *)&socket_address, sizeof socket_address)) return 3;
        if (listen(listener, 4096)) return 4;
    }
    puts("ready");
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0) {}
    return 0;
}

int main(int count, char **arguments) {
    if (count != 4) return 1;
    if (!strcmp(arguments[1], "flood")) return flood(arguments[2], strtoul(arguments[3], NULL, 10));
    return hold(arguments[2], atoi(arguments[3]));
}
