#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/fanotify.h>

#ifndef FAN_REPORT_DFID_NAME  // Linux 5.9
#define FAN_REPORT_DFID_NAME 0x00000c00
#define FAN_EVENT_INFO_TYPE_DFID_NAME 2
#define FAN_EVENT_INFO_TYPE_DFID 3
#endif

int lk_folder_watch(void) {
    return fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_REPORT_DFID_NAME, O_RDONLY | O_CLOEXEC);
}

static void set_id(struct lk_folder_id *id, int type, const void *handle, size_t size) {
    memset(id, 0, sizeof *id);
    id->type = type;
    id->size = (uint32_t)size;
    memcpy(id->bytes, handle, size);
}

int lk_folder_identify(int folder, struct lk_folder_id *id) {
    union {
        struct file_handle handle;
        char room[sizeof(struct file_handle) + sizeof id->bytes];
    } known = {.handle.handle_bytes = sizeof id->bytes};
    int mount;
    if (name_to_handle_at(folder, "", &known.handle, &mount, AT_EMPTY_PATH) == -1) return -1;
    if (known.handle.handle_bytes > sizeof id->bytes) {
        errno = EOVERFLOW;
        return -1;
    }
    set_id(id, known.handle.handle_type, known.handle.f_handle, known.handle.handle_bytes);
    return 0;
}

int lk_folder_watch_add(int watch, int folder) {
    // FAN_CLOSE_WRITE and not FAN_MODIFY: it tells of writes through a mapping too, and comes once for each file that
    // the daemon itself writes, not with each of its writes.
    const uint64_t changes = FAN_CREATE | FAN_DELETE | FAN_MOVED_FROM | FAN_MOVED_TO | FAN_CLOSE_WRITE | FAN_ATTRIB |
                             FAN_DELETE_SELF | FAN_EVENT_ON_CHILD | FAN_ONDIR;
    return fanotify_mark(watch, FAN_MARK_ADD | FAN_MARK_ONLYDIR, changes, folder, NULL);
}

// The parts of struct fanotify_event_info_fid, whose handle has a flexible size.
struct fid {
    struct fanotify_event_info_header header;
    uint32_t system[2];
    uint32_t size;
    int32_t type;
    unsigned char bytes[];
};

static void read_fid(const char *record, size_t size, struct lk_folder_event *event) {
    struct fid fid;
    if (size < sizeof fid) return;
    memcpy(&fid, record, sizeof fid);
    size_t left = size - sizeof fid;
    // Without bytes (FILEID_INVALID) the kernel had no memory for the handle.
    if (fid.size == 0 || fid.size > left || fid.size > sizeof event->folder.bytes) return;
    set_id(&event->folder, fid.type, record + sizeof fid, fid.size);
    event->has_folder = 1;
    if (fid.header.info_type != FAN_EVENT_INFO_TYPE_DFID_NAME) return;
    event->name = record + sizeof fid + fid.size;
    event->name_size = strnlen(event->name, left - fid.size);
}

size_t lk_folder_event(const void *bytes, size_t size, struct lk_folder_event *event) {
    struct fanotify_event_metadata head;
    memset(event, 0, sizeof *event);
    if (size < sizeof head) return 0;
    memcpy(&head, bytes, sizeof head);
    if (head.vers != FANOTIFY_METADATA_VERSION || head.event_len < head.metadata_len || head.event_len > size ||
        head.metadata_len < sizeof head)
        return 0;
    event->process = head.pid;
    event->is_lost = (head.mask & FAN_Q_OVERFLOW) != 0;
    event->is_folder_gone = (head.mask & FAN_DELETE_SELF) != 0;
    const char *record = (const char *)bytes + head.metadata_len;
    size_t left = head.event_len - head.metadata_len;
    struct fanotify_event_info_header info;
    while (left >= sizeof info) {
        memcpy(&info, record, sizeof info);
        if (info.len < sizeof info || info.len > left) break;
        if (info.info_type == FAN_EVENT_INFO_TYPE_DFID_NAME || info.info_type == FAN_EVENT_INFO_TYPE_DFID)
            read_fid(record, info.len, event);
        record += info.len;
        left -= info.len;
    }
    return head.event_len;
}
