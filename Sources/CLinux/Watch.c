#define _GNU_SOURCE
#include "CLinux.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

int lk_process(int process) {
    return (int)syscall(SYS_pidfd_open, process, 0);
}

int lk_watch(void) {
    return epoll_create1(EPOLL_CLOEXEC);
}

int lk_watch_add(int watch, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = descriptor};
    return epoll_ctl(watch, EPOLL_CTL_ADD, descriptor, &event);
}

int lk_watch_next(int watch) {
    struct epoll_event event;
    return epoll_wait(watch, &event, 1, 0) == 1 ? event.data.fd : -1;
}
