# ext4 on this machine, which two mount namespaces see: what the others are compared with
# shellcheck shell=bash disable=SC2154

packages() { echo e2fsprogs; }

version() { uname -r; }

start() {
    make_disk "$store/root"
    mkdir -p "$store/root/data"
}

client() { mount --bind "$store/root/data" "$2"; }

stop() { umount -l "$store/root"; }
