# shellcheck shell=bash
# What the files of the stores share. Each of them has these functions, which run with `set -euo pipefail`:
#
#   packages           prints the Debian packages that it needs
#   version            prints the version of the store's program
#   start              makes and starts the store, with its data in $store, on the address $server
#   client N FOLDER    mounts it on the machine N, on which this runs; its address is $address
#   stop               takes the store down
#
# and, if the store has that: `crash`, which kills the server with SIGKILL, and `heal`, which starts it again with the
# same data; `break_part` and `heal_part` for one replica of several; `server_processes`, which prints the processes of
# the server; `settle`, which waits until both machines see the same.
# shellcheck disable=SC2154 # tools/storing sets store, server, scratch, machine and address.

# until_ready SECONDS COMMAND...: calls the command until it succeeds.
until_ready() {
    local limit=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        if [ "$SECONDS" -ge "$limit" ]; then
            echo "not ready: $*" >&2
            return 1
        fi
        sleep 0.1
    done
}

# make_disk FOLDER: an ext4 there, of 700 MiB at most, as a server has for its data.
make_disk() {
    mkdir -p "$1"
    truncate -s 700M "$1.disk"
    mkfs.ext4 -q -F "$1.disk"
    mount -o loop "$1.disk" "$1"
}

# begin NAME COMMAND...: starts a server that stays in the foreground, and notes its process.
begin() {
    local name=$1
    shift
    setsid "$@" >>"$store/$name.log" 2>&1 </dev/null &
    echo $! >"$store/$name.pid"
}

# kill_begun NAME: SIGKILL to it and to all that it has started; returns when they have ended.
kill_begun() {
    local process
    [ -e "$store/$1.pid" ] || return 0
    process=$(cat "$store/$1.pid")
    kill -KILL -- "-$process" 2>/dev/null || true
    until_ready 20 has_ended "$process"
}

has_ended() { ! kill -0 -- "-$1"; }

is_listening() { (: </dev/tcp/"$1"/"$2") 2>/dev/null; }
