#include "child.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Seconds. What the program waits for itself ends long before.
enum { LIFETIME = 90 };

// The C library's functions would tell all threads, of which a copy of a process has only one: the lists and locks of
// the others are as they were at the copy. 32-bit machines have two kinds of these calls.
#ifdef SYS_setresuid32
#define CALL(name) SYS_##name##32
#else
#define CALL(name) SYS_##name
#endif

static bool become(const struct child *child) {
    uid_t user[3];
    gid_t group[3];
    if (child->becomes_user &&
        (syscall(CALL(setgroups), (size_t)child->group_count, child->groups) != 0 ||
         syscall(CALL(setresgid), child->group, child->group, child->group) != 0 ||
         syscall(CALL(setresuid), child->user, child->user, child->user) != 0))
        return false;
    if (getresuid(&user[0], &user[1], &user[2]) != 0 || getresgid(&group[0], &group[1], &group[2]) != 0) return false;
    for (int index = 0; index < 3; index++)
        if (user[index] != child->user || (child->becomes_user && group[index] != child->group)) return false;
    // The way back must be closed.
    if (child->user != 0 && child->becomes_user && syscall(CALL(setresuid), -1, 0, -1) == 0) return false;
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    // The inheritable ones of the login stay over setresuid(2).
    struct __user_cap_header_struct version = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (child->user != 0 && child->becomes_user && syscall(SYS_capset, &version, none) != 0) return false;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

// Puts the two descriptors at 0 and 1, and /dev/null at 2. The host may have had none of these open, so that the
// descriptors are among them.
static bool arrange(const struct child *child) {
    int input = fcntl(child->input, F_DUPFD, 3), null = open("/dev/null", O_RDWR);
    if (null >= 0 && null < 3) null = fcntl(null, F_DUPFD, 3);
    int output = child->output < 0 ? null : fcntl(child->output, F_DUPFD, 3);
    if (input < 0 || output < 0 || null < 0) return false;
    if (dup2(input, 0) != 0 || dup2(output, 1) != 1 || dup2(null, 2) != 2) return false;
    closefrom(3);
    return true;
}

_Noreturn void run_child(const struct child *child) {
    const struct rlimit no_core = {0, 0};
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int number = 1; number < NSIG; number++) sigaction(number, &standard, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(LIFETIME);
    umask(077);
    setsid();
    // The host keeps no folder busy for as long as the program waits.
    if (arrange(child) && chdir("/") == 0 && setrlimit(RLIMIT_CORE, &no_core) == 0 && become(child))
        execve(child->program, child->arguments, child->environment);
    const char answer = NOT_EXECUTED;
    // If nobody reads it, there is nobody to tell.
    if (write(1, &answer, 1) != 1) _exit(126);
    _exit(127);
}
