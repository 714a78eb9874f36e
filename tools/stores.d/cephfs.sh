# CephFS, with one monitor, one store of objects (BlueStore) and one server of metadata, through ceph-fuse
# shellcheck shell=bash disable=SC2154

packages() { echo ceph-mon ceph-mgr ceph-osd ceph-mds ceph-fuse; }

version() { ceph-fuse --version | sed 's/^ceph version \([^ ]*\).*/CephFS \1/'; }

server_processes() { pgrep -x 'ceph-osd|ceph-mds|ceph-mon' || true; }

start() {
    local id disk
    mkdir -p "$store"/{mon,mgr,osd,mds,run,log}
    id=$(uuidgen)
    disk=$(uuidgen)
    cat >"$store/ceph.conf" <<END
[global]
fsid = $id
mon host = $server
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
public network = ${server%.*}.0/24
run dir = $store/run
admin socket = $store/run/\$name.sock
log file = $store/log/\$name.log
mon data = $store/mon
mgr data = $store/mgr
osd data = $store/osd
mds data = $store/mds
osd objectstore = bluestore
bluestore block size = 805306368
bluestore block db create = false
osd memory target = 939524096
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd crush chooseleaf type = 0
mon allow pool size one = true
mon data avail warn = 2
mon data avail crit = 1
mon pg warn min per osd = 0
auth allow insecure global id reclaim = false
# Without it, a command that is sent before the monitor has told the cluster's number is refused: "wrong fsid".
[mgr]
monmap = $store/monmap
[osd]
monmap = $store/monmap
[mds]
monmap = $store/monmap
[client]
monmap = $store/monmap
keyring = /dev/null
fuse allow other = true
client mount timeout = 30
END
    monmaptool --create --add a "$server" --fsid "$id" "$store/monmap"
    ceph-mon --conf "$store/ceph.conf" --mkfs -i a --monmap "$store/monmap"
    begin_mon
    [ "$(with_ceph osd new "$disk")" = 0 ]
    ceph-osd --conf "$store/ceph.conf" -i 0 --mkfs --osd-uuid "$disk"
    begin_others
    with_ceph osd pool create metadata 8
    with_ceph osd pool create data 8
    with_ceph fs new vaults metadata data
    until_ready 150 is_active
}

# A monitor that has just been elected refuses commands for a moment.
with_ceph() {
    local tries
    for tries in 1 2 3 4 5 6; do
        if timeout 60 ceph --conf "$store/ceph.conf" "$@"; then return; fi
        sleep "$tries"
    done
    return 1
}

begin_mon() {
    begin mon ceph-mon --conf "$store/ceph.conf" -i a -f
    until_ready 90 timeout 30 ceph --conf "$store/ceph.conf" status
}

begin_others() {
    begin mgr ceph-mgr --conf "$store/ceph.conf" -i a -f
    # It ends if its first command gets to the monitor before the monitor has told the cluster's number.
    # shellcheck disable=SC2016 # The inner shell expands it.
    begin osd bash -c 'until ceph-osd --conf "$1" -i 0 -f; do sleep 1; done' osd "$store/ceph.conf"
    begin mds ceph-mds --conf "$store/ceph.conf" -i a -f
}

is_active() { timeout 30 ceph --conf "$store/ceph.conf" fs status vaults --format json | grep -q '"state": "active"'; }

client() { ceph-fuse --conf "$store/ceph.conf" --id admin --client_mountpoint / "$2"; }

heal() {
    begin_mon
    begin_others
    until_ready 150 is_active
}

crash() {
    local name
    for name in mds osd mgr mon; do kill_begun "$name"; done
}

stop() { crash; }
