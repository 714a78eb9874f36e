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
    # mount.davfs reads its cache as the user davfs2, who must get there.
    local folder=/var/cache/davfs2/m$1
    mkdir -p "$folder" /run/mount.davfs
    chown davfs2:davfs2 "$folder" /run/mount.davfs
    printf 'use_locks 0\ndelay_upload 0\ncache_dir %s\nask_auth 0\n' "$folder" >"$scratch/m$1/davfs2.conf"
    mount.davfs "http://$server:8080/" "$2" -o "conf=$scratch/m$1/davfs2.conf,uid=0,gid=0"
}

stop() { crash; }
