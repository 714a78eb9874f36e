# Samba, through rclone mount with --vfs-cache-mode full
# shellcheck shell=bash disable=SC2154
. "$(dirname "${BASH_SOURCE[0]}")/samba.bash"

packages() { echo samba rclone; }

version() {
    samba_version
    rclone version | sed -n 's/^rclone v/through rclone /p'
}

client() {
    local folder=$scratch/m$1
    mkdir -p "$folder/cache"
    printf '[smb]\ntype = smb\nhost = %s\nuser = root\npass = %s\n' "$server" "$(rclone obscure secret)" \
        >"$folder/rclone.conf"
    rclone --config "$folder/rclone.conf" mount smb:vaults "$2" --daemon --allow-other --vfs-cache-mode full \
        --vfs-write-back 0s --dir-cache-time 1s --cache-dir "$folder/cache" --log-file "$folder/rclone.log"
    until_ready 20 mountpoint -q "$2"
}
