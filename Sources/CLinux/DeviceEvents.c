#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

int lk_device_events(void) {
    int events = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
    if (events < 0) return -1;
    // Group 1 is the kernel's; group 2 has udev's copies.
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = 1};
    if (bind(events, (struct sockaddr *)&address, sizeof address) == 0) return events;
    int error = errno;
    close(events);
    errno = error;
    return -1;
}

long lk_device_event(int events, void *bytes, size_t room) {
    struct sockaddr_nl sender = {0};
    socklen_t size = sizeof sender;
    long count = recvfrom(events, bytes, room, 0, (struct sockaddr *)&sender, &size);
    // Port 0 is the kernel's.
    return count > 0 && (sender.nl_pid != 0 || sender.nl_groups != 1) ? 0 : count;
}
