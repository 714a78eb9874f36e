# shellcheck shell=bash
# What every tool here needs: messages, installation of missing packages, builds, and a clean-up at the end. A tool
# sources this after `set -euo pipefail`.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

say() { printf '%s\n' "$*"; }

fail() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# Runs a command as root: directly, or through sudo if it asks for no password. Status 1 if neither is possible.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        sudo -n "$@"
    else
        return 1
    fi
}

# Tests for what a Debian package provides, so that an installed package is found on other distributions too.
is_installed() {
    case $1 in
        fuse3) command -v fusermount3 ;;
        openssh-sftp-server) [ -x /usr/lib/openssh/sftp-server ] || [ -x /usr/libexec/openssh/sftp-server ] ;;
        libfuse3-dev) pkg-config --atleast-version=3.14 fuse3 ;;
        libssl-dev) pkg-config --atleast-version=3.0 libcrypto ;;
        libargon2-dev) pkg-config --exists libargon2 ;;
        libtss2-dev) pkg-config --atleast-version=3.0 tss2-esys tss2-tctildr tss2-mu ;;
        attr) command -v setfattr ;;
        bash-completion) [ -e /usr/share/bash-completion/bash_completion ] ;;
        acl) command -v setfacl ;;
        libcap2-bin) command -v setcap || [ -x /usr/sbin/setcap ] || [ -x /sbin/setcap ] ;;
        e2fsprogs) command -v mkfs.ext4 || [ -x /usr/sbin/mkfs.ext4 ] || [ -x /sbin/mkfs.ext4 ] ;;
        libfido2-1) python3 -c 'import ctypes; ctypes.CDLL("libfido2.so.1")' ;;
        libaio-dev) [ -e /usr/include/libaio.h ] ;;
        libacl1-dev) [ -e /usr/include/sys/acl.h ] ;;
        libpam0g-dev) [ -e /usr/include/security/pam_modules.h ] ;;
        libcap-dev) [ -e /usr/include/sys/capability.h ] ;;
        libgdbm-dev) [ -e /usr/include/gdbm.h ] ;;
        libtool-bin) command -v libtool ;;
        iproute2) command -v ip || [ -x /sbin/ip ] ;;
        procps) command -v pgrep ;;
        openssh-client) command -v ssh ;;
        openssh-server) [ -x /usr/sbin/sshd ] ;;
        moosefs-master) command -v mfsmaster || [ -x /usr/sbin/mfsmaster ] ;;
        moosefs-chunkserver) command -v mfschunkserver || [ -x /usr/sbin/mfschunkserver ] ;;
        moosefs-client) command -v mfsmount ;;
        davfs2) [ -x /usr/sbin/mount.davfs ] || [ -x /sbin/mount.davfs ] ;;
        samba) command -v smbd || [ -x /usr/sbin/smbd ] ;;
        glusterfs-client) command -v glusterfs || [ -x /usr/sbin/glusterfs ] ;;
        glusterfs-server) command -v glusterd || [ -x /usr/sbin/glusterd ] ;;
        liburing-dev) [ -e /usr/include/liburing.h ] ;;
        dpkg-dev) command -v dpkg-shlibdeps ;;
        systemd) command -v busctl ;;
        x11-xserver-utils) command -v xset ;;
        xvfb) command -v Xvfb ;;
        pinentry-gtk2) command -v pinentry-gtk-2 ;;
        libglib2.0-bin) command -v gdbus ;;
        python3-gi) /usr/bin/python3 -c 'import gi' ;;
        gir1.2-gtk-4.0) /usr/bin/python3 -c 'import gi; gi.require_version("Gtk", "4.0")' ;;
        at-spi2-core) [ -x /usr/libexec/at-spi-bus-launcher ] ;;
        gettext) command -v msgfmt ;;
        xdg-utils) command -v xdg-open ;;
        imagemagick) command -v import ;;
        python3-caja) [ -d /usr/share/caja-python ] ;;
        python3-nautilus) [ -d /usr/share/nautilus-python ] ;;
        nemo-python) [ -d /usr/share/nemo-python ] ;;
        librsvg2-common) [ -n "$(compgen -G '/usr/lib/*/gdk-pixbuf-2.0/*/loaders/libpixbufloader-svg.so')" ] ;;
        python3-dbusmock) /usr/bin/python3 -c 'import dbusmock' ;;
        systemd-container) command -v systemd-nspawn ;;
        qemu-system-x86) command -v qemu-system-x86_64 ;;
        util-linux) command -v setpriv ;;
        psmisc) command -v killall ;;
        procps) command -v pkill ;;
        uuid-dev) [ -e /usr/include/uuid/uuid.h ] ;;
        xfslibs-dev) [ -e /usr/include/xfs/xfs.h ] ;;
        xfsprogs) command -v xfs_io || [ -x /usr/sbin/xfs_io ] ;;
        python3-venv) python3 -c 'import venv, ensurepip' ;;
        python3-matplotlib) python3 -c 'import matplotlib' ;;
        binutils) command -v strip ;;
        nfs-ganesha) command -v ganesha.nfsd ;;
        nfs-ganesha-vfs) [ -n "$(compgen -G '/usr/lib/*/ganesha/libfsalvfs.so*')" ] ;;
        libnfs-utils) command -v nfs-cat ;;
        *) command -v "$1" ;;
    esac >/dev/null 2>&1
}

# need_packages PACKAGE...: installs the missing ones, or names them and stops.
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
    # swiftly installs the toolchain here, and only the login shell has it in PATH.
    PATH=$PATH:${SWIFTLY_HOME_DIR:-$HOME/.local/share/swiftly}/bin
    command -v swift >/dev/null || fail "found no Swift: install 6.2 or later from https://www.swift.org/install/linux"
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' | head -n 1)
    [ -n "$version" ] || fail "swift --version prints no version; try: install the toolchain again"
    [ "$(printf '%s\n' 6.2 "$version" | sort -V | head -n 1)" = 6.2 ] ||
        fail "Swift $version is too old: install 6.2 or later from https://www.swift.org/install/linux"
}

need_fuse() {
    [ -e /dev/fuse ] || as_root modprobe fuse 2>/dev/null || true
    [ -e /dev/fuse ] ||
        fail "/dev/fuse does not exist; try: modprobe fuse; a container needs --device /dev/fuse --cap-add SYS_ADMIN"
    { : <>/dev/fuse; } 2>/dev/null ||
        fail "$(id -un) cannot open /dev/fuse; try: run as root, or chmod 666 /dev/fuse"
}

need_to_build() {
    need_packages pkg-config
    need_packages git fuse3 libfuse3-dev libssl-dev libargon2-dev libtss2-dev
    need_swift
}

need_to_test() {
    need_to_build
    need_packages attr acl libcap2-bin libfido2-1 e2fsprogs openssl sqlite3 rclone restic rsync strace swtpm tar
    need_packages sshfs openssh-sftp-server
    # Where systemd runs, Debian starts these servers as soon as they are installed. Without them a test is skipped.
    [ -d /run/systemd/system ] || need_packages nfs-ganesha nfs-ganesha-vfs libnfs-utils rpcbind
    need_packages bash-completion fish mandoc zsh
    need_packages dbus-daemon libglib2.0-bin python3-dbusmock systemd
    need_packages pinentry-gtk2 x11-xserver-utils xdotool xss-lock xvfb
    need_python cryptography argon2=argon2-cffi varlink
    need_fuse
}

# need_python MODULE=PACKAGE...: puts a python3 that can import the modules first in PATH. Missing packages go into an
# environment inside .build, never into the system's Python: Debian allows only its own packages there.
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

# Ignores packages in the user's home, because the programs of the tests do not see them either.
can_import() {
    PYTHONNOUSERSITE=1 python3 -c 'import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]' \
        "$@" 2>/dev/null
}

# Builds the program as it is installed, .build/release/latchkey: optimized, with Swift's runtime linked in.
build_release() { build_release_of latchkey; }

# build_release_of PRODUCT: builds another product in the same way.
build_release_of() {
    local commit
    # As tools/lib/version.sh says it; without git it stays unknown.
    commit=${LATCHKEY_COMMIT:-$(git -C "$top" describe --always --dirty --exclude '*' --abbrev=12 2>/dev/null || true)}
    (cd "$top" && LATCHKEY_COMMIT=${commit:-unknown} swift build -c release --static-swift-stdlib --product "$1")
}

# unmount_below FOLDER: unmounts every mount inside, the deepest first, even if it is busy.
unmount_below() {
    local point
    # mountinfo writes blanks and other special characters of mount points as octal escapes.
    LC_ALL=C awk -v folder="$1/" 'index($5 "/", folder) == 1 { print $5 }' /proc/self/mountinfo | sort -r |
        while IFS= read -r point; do
            point=$(printf '%b' "$point")
            fusermount3 -u -z -q "$point" 2>/dev/null || as_root umount -l "$point" || true
        done
}

ring_switch=/sys/module/fuse/parameters/enable_uring

# switch_rings Y|N: until the end of a tool that has called make_scratch, the kernel offers FUSE over io_uring, or does
# not. Mounts take it where it is offered. Status 1 if that cannot be switched here.
switch_rings() {
    local before
    before=$(cat "$ring_switch" 2>/dev/null) || return 1
    [ "$before" != "$1" ] || return 0
    as_root tee "$ring_switch" >/dev/null 2>&1 <<<"$1" || return 1
    rings_before=${rings_before:-$before}
}

# use_transport: what LATCHKEY_TRANSPORT says, io_uring or device, for a tool that has called make_scratch. Without it,
# io_uring where it can be had.
use_transport() {
    case ${LATCHKEY_TRANSPORT-} in
        device) switch_rings N || true ;;
        io_uring) switch_rings Y || fail "this kernel offers no FUSE over io_uring, or this user cannot switch it on" ;;
        '') switch_rings Y || true ;;
        *) fail "LATCHKEY_TRANSPORT is io_uring or device, not $LATCHKEY_TRANSPORT" ;;
    esac
}

# A tool that starts programs in its scratch folder overrides this with a function that ends them.
stop_programs() { :; }

# make_scratch NAME: makes a temporary folder, $scratch. When the tool ends for any reason, its mounts are unmounted and
# it is removed. Its path is short, because the path of a Unix socket in it must be shorter than 108 bytes.
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
    [ -z "${rings_before-}" ] || as_root tee "$ring_switch" >/dev/null 2>&1 <<<"$rings_before" || true
    # Bare mount points that a failed test has left are immutable.
    rm -rf --one-file-system "$scratch" 2>/dev/null ||
        { as_root chattr -R -f -i "$scratch" || true; rm -rf --one-file-system "$scratch"; } || true
    exit "$status"
}
