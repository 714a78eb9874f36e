#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int lk_unix_socket(void) {
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

int lk_unix_pair(int *ends) {
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
}

static int address_of(const char *path, struct sockaddr_un *address) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address->sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address->sun_path, path);
    return 0;
}

int lk_unix_bind(int socket, const char *path) {
    struct sockaddr_un address;
    if (address_of(path, &address) == -1)
        return -1;
    return bind(socket, (const struct sockaddr *)&address, sizeof address);
}

int lk_unix_connect(int socket, const char *path) {
    struct sockaddr_un address;
    if (address_of(path, &address) == -1)
        return -1;
    return connect(socket, (const struct sockaddr *)&address, sizeof address);
}

int lk_unix_reaches(const char *path) {
    int end = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (end == -1)
        return 0;
    int is_reached = lk_unix_connect(end, path) == 0;
    // syslog(3) tries a stream then.
    int is_stream = !is_reached && errno == EPROTOTYPE;
    close(end);
    if (!is_stream)
        return is_reached;
    end = lk_unix_socket();
    if (end == -1)
        return 0;
    is_reached = lk_unix_connect(end, path) == 0;
    close(end);
    return is_reached;
}

int lk_unix_datagrams(const char *path) {
    struct sockaddr_un address;
    if (address_of(path, &address) == -1)
        return -1;
    // An abstract address, as sd_notify(3) writes it: its length says where it ends.
    size_t size = sizeof address;
    if (path[0] == '@') {
        address.sun_path[0] = 0;
        size = offsetof(struct sockaddr_un, sun_path) + strlen(path);
    }
    int end = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (end == -1)
        return -1;
    if (connect(end, (const struct sockaddr *)&address, size) == 0)
        return end;
    int error = errno;
    close(end);
    errno = error;
    return -1;
}

int lk_unix_accept(int socket) {
    return accept4(socket, NULL, NULL, SOCK_CLOEXEC);
}

int lk_peer(int socket, pid_t *process, uid_t *user, gid_t *group) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == -1)
        return -1;
    *process = peer.pid;
    *user = peer.uid;
    *group = peer.gid;
    return 0;
}

// Aligned as the kernel requires for control messages.
union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(LK_DESCRIPTORS_MAX * sizeof(int))];
};

ssize_t lk_send(int socket, const void *bytes, size_t size, const int *descriptors, size_t count) {
    struct iovec vector = {.iov_base = (void *)bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    union control control;
    if (count > LK_DESCRIPTORS_MAX) {
        errno = EINVAL;
        return -1;
    }
    if (count > 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL);
}

ssize_t lk_receive(int socket, void *bytes, size_t size, int *descriptors, size_t *count) {
    struct iovec vector = {.iov_base = bytes, .iov_len = size};
    union control control;
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    *count = 0;
    ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (got == -1)
        return -1;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        size_t here = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(descriptors + *count, CMSG_DATA(header), here * sizeof(int));
        *count += here;
    }
    if (message.msg_flags & MSG_CTRUNC) {
        for (size_t i = 0; i < *count; i++)
            close(descriptors[i]);
        *count = 0;
        errno = EMFILE;
        return -1;
    }
    return got;
}
