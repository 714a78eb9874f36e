# shellcheck shell=bash
# What every tool here needs: to say what it does, to install what is missing, to build, to clean up after itself.
# Sourced with `set -euo pipefail` in force.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

say() { printf '%s\n' "$*"; }

fail() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# Runs a command as root: at once, or through a sudo that asks nothing. Status 1 when neither is possible.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        sudo -n "$@"
    else
        return 1
    fi
}

# What a Debian package is needed for, so that what is there already is seen on other distributions too.
is_installed() {
    case $1 in
        fuse3) command -v fusermount3 ;;
        libfuse3-dev) pkg-config --atleast-version=3.14 fuse3 ;;
        libssl-dev) pkg-config --atleast-version=3.0 libcrypto ;;
        libargon2-dev) pkg-config --exists libargon2 ;;
        libtss2-dev) pkg-config --atleast-version=3.0 tss2-esys tss2-tctildr tss2-mu ;;
        attr) command -v setfattr ;;
        acl) command -v setfacl ;;
        libcap2-bin) command -v setcap || [ -x /usr/sbin/setcap ] || [ -x /sbin/setcap ] ;;
        e2fsprogs) command -v mkfs.ext4 || [ -x /usr/sbin/mkfs.ext4 ] || [ -x /sbin/mkfs.ext4 ] ;;
        libfido2-1) python3 -c 'import ctypes; ctypes.CDLL("libfido2.so.1")' ;;
        libaio-dev) [ -e /usr/include/libaio.h ] ;;
        libacl1-dev) [ -e /usr/include/sys/acl.h ] ;;
        libcap-dev) [ -e /usr/include/sys/capability.h ] ;;
        libgdbm-dev) [ -e /usr/include/gdbm.h ] ;;
        libtool-bin) command -v libtool ;;
        liburing-dev) [ -e /usr/include/liburing.h ] ;;
        psmisc) command -v killall ;;
        uuid-dev) [ -e /usr/include/uuid/uuid.h ] ;;
        xfslibs-dev) [ -e /usr/include/xfs/xfs.h ] ;;
        xfsprogs) command -v xfs_io || [ -x /usr/sbin/xfs_io ] ;;
        python3-venv) python3 -c 'import venv, ensurepip' ;;
        python3-matplotlib) python3 -c 'import matplotlib' ;;
        binutils) command -v strip ;;
        *) command -v "$1" ;;
    esac >/dev/null 2>&1
}

# need_packages PACKAGE...: installs those that are missing, or says which are and stops.
need_packages() {
    local package missing=()
    for package in "$@"; do
        is_installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if command -v apt-get >/dev/null && as_root true; then
        say "Installing ${missing[*]}"
        as_root apt-get update -qq >/dev/null || true
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
            >/dev/null || fail "apt-get could not install: ${missing[*]}"
    fi
    for package in "${missing[@]}"; do
        is_installed "$package" || fail "missing: ${missing[*]} (names of Debian packages); install them as root"
    done
}

need_swift() {
    local version
    # swiftly puts the toolchain here and expects the login shell to know.
    PATH=$PATH:${SWIFTLY_HOME_DIR:-$HOME/.local/share/swiftly}/bin
    command -v swift >/dev/null || fail "no Swift: install 6.2 or later from https://www.swift.org/install/linux"
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' | head -n 1)
    [ -n "$version" ] || fail "swift --version names no version: is the toolchain whole?"
    [ "$(printf '%s\n' 6.2 "$version" | sort -V | head -n 1)" = 6.2 ] ||
        fail "Swift $version is too old: install 6.2 or later from https://www.swift.org/install/linux"
}

need_fuse() {
    [ -e /dev/fuse ] || as_root modprobe fuse 2>/dev/null || true
    [ -e /dev/fuse ] ||
        fail "no /dev/fuse: modprobe fuse; a container needs --device /dev/fuse --cap-add SYS_ADMIN"
    { : <>/dev/fuse; } 2>/dev/null ||
        fail "/dev/fuse does not open for $(id -un): run as root, or chmod 666 /dev/fuse"
}

need_to_build() {
    need_packages pkg-config
    need_packages git fuse3 libfuse3-dev libssl-dev libargon2-dev libtss2-dev
    need_swift
}

need_to_test() {
    need_to_build
    need_packages attr acl libcap2-bin libfido2-1 e2fsprogs openssl sqlite3 rclone restic rsync strace swtpm tar
    need_python cryptography argon2=argon2-cffi varlink
    need_fuse
}

# need_python MODULE=PACKAGE...: puts a python3 that can import the modules first in PATH. What is missing is installed
# into an environment inside .build, never into the system's Python, which Debian keeps to itself.
need_python() {
    local pair modules=() packages=()
    need_packages python3
    for pair in "$@"; do
        modules+=("${pair%%=*}")
        packages+=("${pair#*=}")
    done
    can_import "${modules[@]}" && return
    if [ ! -x "$top/.build/python/bin/pip" ]; then
        need_packages python3-venv
        python3 -m venv --system-site-packages "$top/.build/python"
    fi
    PATH=$top/.build/python/bin:$PATH
    can_import "${modules[@]}" && return
    say "Installing ${packages[*]} into .build/python"
    pip install --quiet --disable-pip-version-check "${packages[@]}" || fail "pip could not install: ${packages[*]}"
    can_import "${modules[@]}" || fail "python3 cannot import: ${modules[*]}"
}

# Without the packages of this user's home: the tests give their programs none.
can_import() {
    PYTHONNOUSERSITE=1 python3 -c 'import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]' "$@" 2>/dev/null
}

# The program as it is installed, in .build/release/latchkey: optimised, with Swift's runtime linked in.
build_release() { build_release_of latchkey; }

# build_release_of PRODUCT
build_release_of() {
    (cd "$top" && swift build -c release --static-swift-stdlib --product "$1")
}

# unmount_below FOLDER: takes down every mount inside, the deepest first, busy or not.
unmount_below() {
    local point
    # Mount points in mountinfo have blanks and the like as octal escapes.
    awk -v folder="$1/" 'index($5 "/", folder) == 1 { print $5 }' /proc/self/mountinfo | sort -r |
        while IFS= read -r point; do
            point=$(printf '%b' "$point")
            fusermount3 -u -z -q "$point" 2>/dev/null || as_root umount -l "$point" || true
        done
}

# A tool that starts programs in its scratch folder replaces this by what ends them.
stop_programs() { :; }

# make_scratch NAME: a temporary folder in $scratch, unmounted and removed when the tool ends, however it ends. Its
# path is short, because Unix sockets in it must have names below 108 bytes.
make_scratch() {
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/$1.XXXXXX")
    trap remove_scratch EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

remove_scratch() {
    local status=$?
    trap '' HUP INT TERM
    stop_programs
    cd /
    unmount_below "$scratch"
    rm -rf --one-file-system "$scratch"
    exit "$status"
}
