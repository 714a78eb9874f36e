# rclone mount, of a bucket of S3 (moto), with --vfs-cache-mode full
# shellcheck shell=bash disable=SC2154
. "$(dirname "${BASH_SOURCE[0]}")/s3.bash"

packages() { echo rclone "$(s3_packages)"; }

prepare() { s3_prepare; }

version() {
    rclone version | sed -n 's/^rclone v/rclone /p'
    s3_version
}

start() {
    s3_start
    cat >"$store/rclone.conf" <<END
[s3]
type = s3
provider = Other
access_key_id = key
secret_access_key = secret
endpoint = http://$server:5000
region = us-east-1
force_path_style = true
END
}

client() {
    mkdir -p "$scratch/m$1/cache"
    rclone --config "$store/rclone.conf" mount s3:vaults "$2" --daemon --allow-other --vfs-cache-mode full \
        --vfs-write-back 0s --dir-cache-time 1s --cache-dir "$scratch/m$1/cache" --vfs-cache-max-size 300M \
        --log-file "$scratch/m$1/rclone.log"
    until_ready 20 mountpoint -q "$2"
}

stop() { kill_begun moto; }
