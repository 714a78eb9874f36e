# davfs2, with a WebDAV server (rclone serve webdav)
# shellcheck shell=bash disable=SC2154

packages() { echo davfs2 rclone; }

version() { mount.davfs --version | sed -n '1s/ .*//;1p' | tr '\n' ' '; dpkg-query -W -f '${Version}' davfs2; }

start() {
    mkdir -p "$store/data"
    heal
}

heal() {
    begin webdav rclone serve webdav "$store/data" --addr "$server:8080" --config /dev/null
    until_ready 30 is_listening "$server" 8080
}

crash() { kill_begun webdav; }

client() {
    # Each machine has a cache of its own, where mount.davfs expects it.
    local cache=$scratch/m$1/davfs2
    mkdir -p "$cache" /run/mount.davfs
    chown root:davfs2 "$cache" /run/mount.davfs
    chmod 775 "$cache" /run/mount.davfs
    mount --bind "$cache" /var/cache/davfs2
    printf 'use_locks 0\ndelay_upload 0\nask_auth 0\n' >"$scratch/m$1/davfs2.conf"
    mount.davfs "http://$server:8080/" "$2" -o "conf=$scratch/m$1/davfs2.conf,uid=0,gid=0"
}

stop() { crash; }
