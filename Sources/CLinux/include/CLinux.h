// Functions that Swift cannot call itself: variadic ones, and Linux calls whose headers Glibc's module lacks. Every
// function keeps the convention of the wrapped call: -1 and errno on failure.
#ifndef CLINUX_H
#define CLINUX_H

#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <time.h>

#pragma clang assume_nonnull begin

void lk_strerror(int error, char *buffer, size_t size);
const char *_Nullable lk_strerrorname(int error);  // "ENOENT", or NULL

int lk_openat(int directory, const char *path, int flags, mode_t mode);
int lk_open_beneath(int directory, const char *name, int flags, mode_t mode);  // one component, stays in the directory
int lk_duplicate(int file);  // close-on-exec
int lk_pipe(int *ends);        // read end, write end; close-on-exec
int lk_memfd(const char *name);
int lk_set_nonblocking(int file, int on);
// The birth time of the file, or of the entry `name` in it; 1 if it is known, 0 if not.
int lk_birth_time(int file, const char *name, struct timespec *birthTime);
// st_dev and st_ino as the kernel has them, without a request to the file system. Follows a symbolic link at the end.
int lk_known_inode(int directory, const char *path, uint64_t *device, uint64_t *inode);
// Fails with EAGAIN if a disk would have to be asked for the path.
int lk_known_ownership(const char *path, uint32_t *owner, uint32_t *group, uint32_t *mode);
int lk_known_directory(const char *path);  // 1, or 0 if it is no directory
int lk_note_access(int file);  // a read of one byte, without O_NOATIME

int lk_renameat2(int old_directory, const char *old_name, int new_directory, const char *new_name, unsigned flags);
int lk_fallocate(int file, int mode, int64_t offset, int64_t length);
ssize_t lk_copy_file_range(int from, int64_t *from_offset, int to, int64_t *to_offset, size_t length);
int lk_syncfs(int file);
int lk_flock_exclusive(int file);  // LOCK_EX | LOCK_NB
int lk_flock_wait(int file);  // LOCK_EX
int lk_lock_description(int file);       // F_OFD_SETLK, the whole file, exclusively
// F_OFD_SETLK of `length` bytes, 0 for all from `start` on; `type` is F_RDLCK, F_WRLCK or F_UNLCK.
int lk_lock_range(int file, int type, int64_t start, int64_t length);
// F_OFD_GETLK: what is in the way of such a lock takes its place; `*type` is F_UNLCK if nothing is.
int lk_find_lock(int file, int *type, int64_t *start, int64_t *length);
int lk_is_description_locked(int file);  // 1 if another open file description has that lock, or 0
ssize_t lk_getdents(int directory, void *buffer, size_t size);

// The extended attributes of an open file, also if opened with O_PATH.
ssize_t lk_getxattr(int file, const char *name, void *_Nullable value, size_t size);
// Of an entry of a folder; a symbolic link is not followed.
ssize_t lk_getxattrat(int directory, const char *entry, const char *name, void *_Nullable value, size_t size);
int lk_setxattr(int file, const char *name, const void *_Nullable value, size_t size, int flags);
int lk_removexattr(int file, const char *name);
ssize_t lk_listxattr(int file, char *_Nullable list, size_t size);
// The mode of an open file, also if opened with O_PATH.
int lk_fchmod(int file, mode_t mode);
int lk_set_immutable(int file, int on);  // as chattr +i or -i; not if opened with O_PATH
int lk_is_immutable(int file);   // 1 or 0; also if opened with O_PATH

int lk_is_read_call(long number);  // read(2) or a similar call

/// A nonblocking event counter at 0. Source: eventfd(2).
int lk_eventfd(void);

/// A descriptor that is readable when the process has ended. Source: pidfd_open(2).
int lk_process(int process);
/// A set of descriptors, readable while one of them is. Source: epoll(7).
int lk_watch(void);
/// Adds a descriptor, which counts once; it leaves the set when it is closed.
int lk_watch_add(int watch, int descriptor);
/// The number of a descriptor that is readable; -1 if none is.
int lk_watch_next(int watch);

/// A folder, by its file handle. Source: name_to_handle_at(2).
struct lk_folder_id {
    int32_t type;
    uint32_t size;
    unsigned char bytes[64];
};
/// A change in a watched folder.
struct lk_folder_event {
    int32_t process;        // which made the change; 0 if that is not told: another one
    int32_t is_lost;        // events were lost: the queue was full
    int32_t is_folder_gone;
    int32_t has_folder;
    struct lk_folder_id folder;
    const char *_Nullable name;  // of the entry, within the event's bytes; "." for the folder itself
    size_t name_size;
};
/// A set of watched folders, readable while there are events. Source: fanotify(7), without privileges since Linux 5.13.
int lk_folder_watch(void);
/// Adds an open folder; it may be in the set already.
int lk_folder_watch_add(int watch, int folder);
/// How the events of an open folder name it.
int lk_folder_identify(int folder, struct lk_folder_id *id);
/// Takes the first event of those that read(2) has returned; returns its length, 0 at the end.
size_t lk_folder_event(const void *bytes, size_t size, struct lk_folder_event *event);

/// A netlink socket that gets the kernel's device events. Source: netlink(7), NETLINK_KOBJECT_UEVENT.
int lk_device_events(void);
/// Waits for the next event, and returns its length; 0 for a message that another process has sent.
long lk_device_event(int socket, void *_Nonnull bytes, size_t room);

// Whether the thread has all capabilities of this mask, by number.
int lk_has_capabilities(uint64_t mask);
/// Enters the mount namespace of an open /proc/PID/ns/mnt.
int lk_join_mounts(int mount_namespace);

int lk_forbid_dumps(void);  // PR_SET_DUMPABLE 0, RLIMIT_CORE 0
void lk_set_process_name(const char *_Nonnull name);
void lk_bound_arenas(int count);  // M_ARENA_MAX
// Raises the soft limit to the hard one; `limit` is the new limit, UINT64_MAX for none.
int lk_raise_open_files(uint64_t *limit);
int lk_raise_locked_memory(uint64_t *limit);
// The whole pages of these bytes are locked when they are first touched (MLOCK_ONFAULT).
int lk_lock_memory(void *_Nonnull start, size_t size);
void lk_unlock_memory(void *_Nonnull start, size_t size);
void lk_do_not_dump(void *_Nonnull start, size_t size);
int lk_signalfd(const sigset_t *signals);
int lk_signalfd_read(int file);  // the signal's number
// The same; *is_sent: 1 if a process has sent it, 0 if the kernel has, as for a key of the terminal.
int lk_signalfd_read_origin(int file, int *is_sent);
int lk_boot_timer(void);         // a timerfd on CLOCK_BOOTTIME, non-blocking
int lk_boot_timer_set(int timer, struct timespec deadline);
int lk_boot_now(struct timespec *now);

// Prepares a program to be executed as a daemon: its own session, the root folder as working folder, and without our
// descriptors from `first` on.
int lk_spawn_as_daemon(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, int first);

#define LK_DESCRIPTORS_MAX 8

int lk_unix_socket(void);  // SOCK_STREAM, close-on-exec
int lk_unix_pair(int *ends);  // two descriptors
int lk_unix_bind(int socket, const char *path);
int lk_unix_connect(int socket, const char *path);
int lk_unix_reaches(const char *path);  // whether a process listens there, on a socket of datagrams or a stream
// A connected socket of datagrams, nonblocking and close-on-exec; a path that begins with @ is an abstract address.
int lk_unix_datagrams(const char *path);
int lk_unix_accept(int socket);
int lk_peer(int socket, pid_t *process, uid_t *user, gid_t *group);
// SCM_RIGHTS. `descriptors` has room for LK_DESCRIPTORS_MAX, which are close-on-exec; *count is how many came. If there
// are more, the call fails with EMFILE, and none stays open.
ssize_t lk_send(int socket, const void *_Nullable bytes, size_t size, const int *_Nullable descriptors, size_t count);
ssize_t lk_receive(int socket, void *_Nullable bytes, size_t size, int *descriptors, size_t *count);

#pragma clang assume_nonnull end

#endif
