# shellcheck shell=bash
# Builds programs of xfstests without its build system. tools/stress and tools/stores source this behind common.sh.

# build_from_ltp CHECKOUT PROGRAM FILE: builds ltp/PROGRAM.c, which is fsx or fsstress, as FILE.
build_from_ltp() {
    local checkout=$1 program=$2 file=$3 include have
    need_packages gcc libaio-dev xfslibs-dev
    include=$(mktemp -d)
    # The macros that the checkout's configure would define. Each time that fsx reopens its file, it drops the caches of
    # the whole machine through a shell: an empty system() prevents that, because it would slow down other work here.
    cat >"$include/config.h" <<'END'
#include <stdlib.h>
#define system(command) 0
END
    have=$(printf -- '-DHAVE_%s ' ASSERT_H DIRENT_H ERRNO_H ERR_H FCNTL_H LIBGEN_H LINUX_FALLOC_H LINUX_FIEMAP_H \
        MALLOC_H SIGNAL_H STDLIB_H STRINGS_H STRING_H SYS_IOCTL_H SYS_MMAN_H SYS_PARAM_H SYS_PRCTL_H SYS_STATVFS_H \
        SYS_STAT_H SYS_TIME_H SYS_TYPES_H SYS_WAIT_H UNISTD_H XFS_XFS_H COPY_FILE_RANGE RENAMEAT2)
    # shellcheck disable=SC2086
    gcc -std=gnu11 -O2 -w -funsigned-char -fno-strict-aliasing -ftrivial-auto-var-init=zero -D_GNU_SOURCE \
        -D_FILE_OFFSET_BITS=64 -DDEBUG -DAIO -DFALLOCATE -DNEED_INTERNAL_XFS_IOC_EXCHANGE_RANGE $have \
        -I"$include" -I"$checkout/src" -I"$checkout/include" \
        "$checkout/ltp/$program.c" "$checkout/lib/random.c" -laio -o "$file"
    rm -r "$include"
}
