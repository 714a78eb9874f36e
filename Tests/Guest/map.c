// map FILE: maps the file, reads all of it, and says so. At SIGUSR1 it reads a page again, and ends.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int count, char **arguments) {
    (void)count;
    int file = open(arguments[1], O_RDONLY);
    struct stat status;
    if (file < 0 || fstat(file, &status)) return 1;
    const volatile char *map = mmap(NULL, status.st_size, PROT_READ, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) return 2;
    unsigned long sum = 0;
    for (off_t at = 0; at < status.st_size; at += 4096) sum += map[at];
    printf("mapped, %lu\n", sum);
    fflush(stdout);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int number;
    if (sigwait(&set, &number)) return 3;
    return map[0] == 0 ? 0 : 4;
}
