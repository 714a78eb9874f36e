# shellcheck shell=bash disable=SC2154
# A server of S3 for the files of the stores that use one: moto, in its own process, with its objects in memory.

python=$(dirname "${BASH_SOURCE[0]}")/../../.build/stores/bin

s3_packages() { echo python3-venv curl; }

# Before the namespaces: pip needs the network.
s3_prepare() {
    [ ! -x "$python/moto_server" ] || return 0
    python3 -m venv "${python%/bin}"
    "$python/pip" install --quiet --disable-pip-version-check 'moto[server,s3]'
}

s3_version() { "$python/pip" show moto | sed -n 's/^Version: /on moto /p'; }

s3_start() {
    begin moto "$python/moto_server" -H "$server" -p 5000
    until_ready 60 is_listening "$server" 5000
    curl -s -X PUT "http://$server:5000/vaults" >"$store/bucket"
}
