# s3fs, of a bucket of S3 (moto)
# shellcheck shell=bash disable=SC2154
. "$(dirname "${BASH_SOURCE[0]}")/s3.bash"

packages() { echo s3fs "$(s3_packages)"; }

prepare() { s3_prepare; }

version() {
    s3fs --version | sed -n '1s/.* V\([0-9.]*\).*/s3fs \1/p'
    s3_version
}

start() {
    s3_start
    printf 'key:secret\n' >"$store/password"
    chmod 600 "$store/password"
}

client() {
    mkdir -p "$scratch/m$1/cache"
    s3fs vaults "$2" -o url="http://$server:5000" -o use_path_request_style -o passwd_file="$store/password" \
        -o allow_other -o tmpdir="$scratch/m$1/cache" -o stat_cache_expire=1
    until_ready 20 mountpoint -q "$2"
}

stop() { kill_begun moto; }
