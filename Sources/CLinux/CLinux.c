#define _GNU_SOURCE
#include "CLinux.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <sys/xattr.h>
#include <unistd.h>

void lk_strerror(int error, char *buffer, size_t size) {
    const char *text = strerror_r(error, buffer, size);
    if (text != buffer)
        snprintf(buffer, size, "%s", text);
}

const char *lk_strerrorname(int error) {
    return strerrorname_np(error);
}

int lk_openat(int directory, const char *path, int flags, mode_t mode) {
    return openat(directory, path, flags, mode);
}

// Linux 5.6. If a kernel or a container's filter refuses it, openat(2) is used: with one component and O_NOFOLLOW it
// stays in the directory too. The caller's O_NOFOLLOW ensures that.
int lk_open_beneath(int directory, const char *name, int flags, mode_t mode) {
    const int path_flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const int creates = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
    const struct open_how how = {
        .flags = (uint64_t)(flags & O_PATH ? flags & path_flags : flags),
        .mode = creates ? mode & 07777 : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    int file = (int)syscall(SYS_openat2, directory, name, &how, sizeof how);
    // If another thread moves the entry to another directory between the lookup and the check, it is not beneath this
    // one any more: EXDEV. The next attempt finds what has the name by then. For "..", the answer stays.
    for (int attempt = 0; file == -1 && errno == EXDEV && attempt < 1000; attempt++)
        file = (int)syscall(SYS_openat2, directory, name, &how, sizeof how);
    return file == -1 && (errno == ENOSYS || errno == EPERM) ? openat(directory, name, flags, mode) : file;
}

int lk_known_ownership(const char *path, uint32_t *owner, uint32_t *group, uint32_t *mode) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_CACHED};
    int file = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    if (file == -1) return -1;
    struct statx status;
    int result = statx(file, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &status);
    int error = errno;
    close(file);
    errno = error;
    if (result != 0) return -1;
    *owner = status.stx_uid;
    *group = status.stx_gid;
    *mode = status.stx_mode;
    return 0;
}

int lk_duplicate(int file) {
    return fcntl(file, F_DUPFD_CLOEXEC, 0);
}

int lk_pipe(int *ends) {
    return pipe2(ends, O_CLOEXEC);
}

int lk_memfd(const char *name) {
    return memfd_create(name, MFD_CLOEXEC);
}

int lk_set_nonblocking(int file, int on) {
    int flags = fcntl(file, F_GETFL);
    return flags == -1 ? -1 : fcntl(file, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

int lk_note_access(int file) {
    char byte;
    int flags = fcntl(file, F_GETFL);
    if (flags == -1)
        return -1;
    // Without the flag every read updates the time; or another thread is doing this just now.
    if (!(flags & O_NOATIME))
        return 0;
    if (fcntl(file, F_SETFL, flags & ~O_NOATIME) == -1)
        return -1;
    ssize_t count = pread(file, &byte, 1, 0);
    return fcntl(file, F_SETFL, flags) == -1 || count == -1 ? -1 : 0;
}

int lk_birth_time(int file, const char *name, struct timespec *birthTime) {
    struct statx status;
    if (statx(file, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_BTIME, &status) != 0) return -1;
    if (!(status.stx_mask & STATX_BTIME)) return 0;
    birthTime->tv_sec = status.stx_btime.tv_sec;
    birthTime->tv_nsec = status.stx_btime.tv_nsec;
    return 1;
}

int lk_known_inode(int directory, const char *path, uint64_t *device, uint64_t *inode) {
    struct statx status;
    // The mask is empty, so the kernel has nothing to ask the file system for.
    if (statx(directory, path, AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &status) != 0) return -1;
    *device = makedev(status.stx_dev_major, status.stx_dev_minor);
    *inode = status.stx_ino;
    return 0;
}

int lk_known_directory(const char *path) {
    struct statx status;
    if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &status) != 0) return -1;
    return S_ISDIR(status.stx_mode);
}

int lk_renameat2(int old_directory, const char *old_name, int new_directory, const char *new_name, unsigned flags) {
    return renameat2(old_directory, old_name, new_directory, new_name, flags);
}

int lk_fallocate(int file, int mode, int64_t offset, int64_t length) {
    return fallocate(file, mode, offset, length);
}

ssize_t lk_copy_file_range(int from, int64_t *from_offset, int to, int64_t *to_offset, size_t length) {
    return copy_file_range(from, from_offset, to, to_offset, length, 0);
}

int lk_syncfs(int file) {
    return syncfs(file);
}

int lk_flock_exclusive(int file) {
    return flock(file, LOCK_EX | LOCK_NB);
}

int lk_flock_wait(int file) {
    return flock(file, LOCK_EX);
}

int lk_lock_description(int file) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(file, F_OFD_SETLK, &lock);
}

int lk_is_description_locked(int file) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(file, F_OFD_GETLK, &lock) ? -1 : lock.l_type != F_UNLCK;
}

int lk_lock_range(int file, int type, int64_t start, int64_t length) {
    struct flock lock = {.l_type = (short)type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
    return fcntl(file, F_OFD_SETLK, &lock);
}

int lk_find_lock(int file, int *type, int64_t *start, int64_t *length) {
    struct flock lock = {.l_type = (short)*type, .l_whence = SEEK_SET, .l_start = *start, .l_len = *length};
    if (fcntl(file, F_OFD_GETLK, &lock)) return -1;
    *type = lock.l_type;
    *start = lock.l_start;
    *length = lock.l_len;
    return 0;
}

ssize_t lk_getdents(int directory, void *buffer, size_t size) {
    return getdents64(directory, buffer, size);
}

// The f*xattr calls and fchmod fail with EBADF for an O_PATH descriptor; its magic link in /proc leads to the same
// inode.
struct magic_link {
    char path[32];
};

static struct magic_link magic_link(int file) {
    struct magic_link link;
    snprintf(link.path, sizeof link.path, "/proc/self/fd/%d", file);
    return link;
}

ssize_t lk_getxattr(int file, const char *name, void *value, size_t size) {
    ssize_t got = fgetxattr(file, name, value, size);
    return got == -1 && errno == EBADF ? getxattr(magic_link(file).path, name, value, size) : got;
}

// Linux 6.13; neither glibc nor every kernel's headers have it.
#ifndef SYS_getxattrat
#define SYS_getxattrat 464
#endif

ssize_t lk_getxattrat(int directory, const char *entry, const char *name, void *value, size_t size) {
    struct {
        uint64_t value;
        uint32_t size, flags;
    } arguments = {.value = (uint64_t)(uintptr_t)value, .size = (uint32_t)size};
    long got = syscall(SYS_getxattrat, directory, entry, AT_SYMLINK_NOFOLLOW, name, &arguments, sizeof arguments);
    if (got != -1 || errno != ENOSYS)
        return got;
    char path[32 + 256];
    if (snprintf(path, sizeof path, "/proc/self/fd/%d/%s", directory, entry) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return lgetxattr(path, name, value, size);
}

int lk_setxattr(int file, const char *name, const void *value, size_t size, int flags) {
    int result = fsetxattr(file, name, value, size, flags);
    return result == -1 && errno == EBADF ? setxattr(magic_link(file).path, name, value, size, flags) : result;
}

int lk_removexattr(int file, const char *name) {
    int result = fremovexattr(file, name);
    return result == -1 && errno == EBADF ? removexattr(magic_link(file).path, name) : result;
}

ssize_t lk_listxattr(int file, char *list, size_t size) {
    ssize_t got = flistxattr(file, list, size);
    return got == -1 && errno == EBADF ? listxattr(magic_link(file).path, list, size) : got;
}

int lk_fchmod(int file, mode_t mode) {
    int result = fchmod(file, mode);
    return result == -1 && errno == EBADF ? chmod(magic_link(file).path, mode) : result;
}

int lk_set_immutable(int file, int on) {
    int flags = 0;
    if (ioctl(file, FS_IOC_GETFLAGS, &flags) == -1) return -1;
    flags = on ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
    return ioctl(file, FS_IOC_SETFLAGS, &flags);
}

int lk_is_immutable(int file) {
    struct statx status;
    if (statx(file, "", AT_EMPTY_PATH, 0, &status) != 0) return -1;
    return (status.stx_attributes & STATX_ATTR_IMMUTABLE) != 0;
}

int lk_has_capabilities(uint64_t mask) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, data) != 0) return 0;
    return (((uint64_t)data[1].effective << 32 | data[0].effective) & mask) == mask;
}

int lk_join_mounts(int mount_namespace) { return setns(mount_namespace, CLONE_NEWNS); }

int lk_forbid_dumps(void) {
    const struct rlimit none = {0, 0};
    return setrlimit(RLIMIT_CORE, &none) == -1 ? -1 : prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void lk_set_process_name(const char *name) {
    prctl(PR_SET_NAME, name, 0, 0, 0); // cannot fail for a string; only the main thread's name is the process's
}

static int raise_limit(__rlimit_resource_t resource, uint64_t *limit) {
    struct rlimit both;
    if (getrlimit(resource, &both) == -1)
        return -1;
    both.rlim_cur = both.rlim_max;
    if (setrlimit(resource, &both) == -1)
        return -1;
    *limit = both.rlim_max == RLIM_INFINITY ? UINT64_MAX : both.rlim_max;
    return 0;
}

void lk_bound_arenas(int count) {
    mallopt(M_ARENA_MAX, count);
}

int lk_raise_open_files(uint64_t *limit) {
    return raise_limit(RLIMIT_NOFILE, limit);
}

int lk_raise_locked_memory(uint64_t *limit) {
    return raise_limit(RLIMIT_MEMLOCK, limit);
}

static size_t whole_pages(void **start, size_t size) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)*start & ~(page - 1);
    uintptr_t end = ((uintptr_t)*start + size + page - 1) & ~(page - 1);
    *start = (void *)first;
    return end - first;
}

int lk_lock_memory(void *start, size_t size) {
    size = whole_pages(&start, size);
    int result = mlock2(start, size, MLOCK_ONFAULT);
    // Linux before 4.4, or a filter of system calls.
    return result != 0 && (errno == ENOSYS || errno == EINVAL) ? mlock(start, size) : result;
}

void lk_unlock_memory(void *start, size_t size) {
    size = whole_pages(&start, size);
    munlock(start, size);
}

void lk_do_not_dump(void *start, size_t size) {
    size = whole_pages(&start, size);
    madvise(start, size, MADV_DONTDUMP);
}

int lk_eventfd(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

int lk_signalfd(const sigset_t *signals) {
    return signalfd(-1, signals, SFD_CLOEXEC);
}

int lk_signalfd_read(int file) {
    struct signalfd_siginfo info;
    ssize_t got = read(file, &info, sizeof info);
    return got == (ssize_t)sizeof info ? (int)info.ssi_signo : -1;
}

int lk_signalfd_read_origin(int file, int *is_sent) {
    struct signalfd_siginfo info;
    ssize_t got = read(file, &info, sizeof info);
    if (got != (ssize_t)sizeof info) return -1;
    // SI_USER, SI_QUEUE, SI_TKILL; the kernel's own codes are above.
    *is_sent = info.ssi_code <= 0;
    return (int)info.ssi_signo;
}

int lk_boot_timer(void) {
    return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
}

int lk_boot_timer_set(int timer, struct timespec deadline) {
    const struct itimerspec once = {.it_value = deadline};
    return timerfd_settime(timer, TFD_TIMER_ABSTIME, &once, NULL);
}

int lk_boot_now(struct timespec *now) {
    return clock_gettime(CLOCK_BOOTTIME, now);
}

int lk_spawn_as_daemon(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, int first) {
    int error = posix_spawn_file_actions_addclosefrom_np(actions, first);
    if (!error) error = posix_spawn_file_actions_addchdir_np(actions, "/");
    if (!error) error = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID);
    if (!error) return 0;
    errno = error;
    return -1;
}

int lk_is_read_call(long number) {
    switch (number) {
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2:
        return 1;
    default:
        return 0;
    }
}
