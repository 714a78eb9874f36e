#define _GNU_SOURCE
#include "Library.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// Reports of 64 bytes, one after the other, without separators: CTAP 2.1, 11.2.4.

static const char head[] = "socket:";

static void *open_socket(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    path += sizeof head - 1;
    if (strlen(path) >= sizeof address.sun_path) return NULL;
    strcpy(address.sun_path, path);
    int *handle = malloc(sizeof *handle);
    if (handle == NULL) return NULL;
    *handle = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*handle >= 0 && connect(*handle, (struct sockaddr *)&address, sizeof address) == 0) return handle;
    if (*handle >= 0) close(*handle);
    free(handle);
    return NULL;
}

static void close_socket(void *handle) {
    close(*(int *)handle);
    free(handle);
}

static int read_report(void *handle, unsigned char *bytes, size_t count, int milliseconds) {
    long long end = lk_fido2_now() + milliseconds;
    size_t done = 0;
    while (done < count) {
        struct pollfd waiting = {.fd = *(int *)handle, .events = POLLIN};
        long long left = milliseconds < 0 ? -1 : end - lk_fido2_now();
        if (milliseconds >= 0 && left < 0) return -1;
        int ready = poll(&waiting, 1, (int)left);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return -1;
        ssize_t got = read(waiting.fd, bytes + done, count - done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return -1;
        done += (size_t)got;
    }
    return (int)count;
}

static int write_report(void *handle, const unsigned char *bytes, size_t count) {
    // The first byte is the report's number, which Linux's hidraw requires.
    for (size_t done = 1; done < count;) {
        ssize_t sent = send(*(int *)handle, bytes + done, count - done, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return -1;
        done += (size_t)sent;
    }
    return (int)count;
}

const fido_dev_io_t lk_fido2_socket = {open_socket, close_socket, read_report, write_report};
