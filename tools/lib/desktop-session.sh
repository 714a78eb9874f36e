# shellcheck shell=bash
# A desktop session of its own for a tool: mounts, processes, /run/latchkey, a bus and a screen. tools/desktop-test and
# tools/desktop-pictures source this behind common.sh, and call make_scratch first.
# shellcheck disable=SC2154 # common.sh sets top and scratch.

# Why no session can be made here, or nothing.
desktop_session_trouble() {
    [ "$(id -u)" = 0 ] || { say "that needs root"; return; }
    unshare --mount --pid --fork --mount-proc true 2>/dev/null || say "this root may make no namespaces"
}

# desktop_session NAME SECONDS COMMAND...: runs a command in it. All of it ends with the command, at the latest after so
# many seconds. Its temporary files are in $scratch/NAME, and go with it; the program's own sources and tests can be
# imported.
desktop_session() {
    local folder=$scratch/$1 limit=$2
    shift 2
    mkdir -p "$folder/run" "$folder/tmp"
    chmod 700 "$folder/run"
    # shellcheck disable=SC2016 # The inner shell expands it.
    PYTHONPATH=$top/Sources/latchkey-desktop:$top/Tests/DesktopTests PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
        timeout --kill-after=10 "$limit" unshare --mount --pid --fork --kill-child --mount-proc bash -euc '
        scratch=$1
        shift
        mkdir -p /run/latchkey
        mount -t tmpfs -o mode=700,size=16m latchkey /run/latchkey
        mount -t tmpfs -o mode=1777,size=512m latchkey "$scratch/tmp"
        export TMPDIR=$scratch/tmp XDG_RUNTIME_DIR=$scratch/run LANG=C.UTF-8
        unset WAYLAND_DISPLAY DBUS_SESSION_BUS_ADDRESS AT_SPI_BUS_ADDRESS LANGUAGE LC_ALL
        exec dbus-run-session -- bash -euc "
            exec {from}< <(exec Xvfb -displayfd 3 -screen 0 1280x1024x24 -nolisten tcp 3>&1 >/dev/null 2>&1)
            read -r -t 30 display <&\$from
            export DISPLAY=:\$display GDK_BACKEND=x11
            /usr/libexec/at-spi-bus-launcher --launch-immediately >/dev/null 2>&1 &
            exec \"\$@\"" desktop "$@" 2>&1' session "$folder" "$@"
}
