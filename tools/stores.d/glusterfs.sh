# GlusterFS, a volume of three replicas
# shellcheck shell=bash disable=SC2154

packages() { echo glusterfs-server glusterfs-client; }

version() { gluster --version | head -n 1; }

server_processes() { pgrep -x 'glusterfsd|glusterd' || true; }

start() {
    local number
    for number in 1 2 3; do make_disk "$store/brick$number"; done
    mkdir -p "$store"/brick{1,2,3}/data /var/lib/glusterd /var/log/glusterfs /run/gluster
    begin glusterd glusterd -N
    until_ready 30 gluster --mode=script volume info
    gluster --mode=script volume create vaults replica 3 "$server":"$store"/brick{1,2,3}/data force
    gluster --mode=script volume start vaults
    until_ready 30 all_bricks
}

brick_processes() { pgrep -f "glusterfsd.*brick$1" || true; }

all_bricks() { [ "$(pgrep -x glusterfsd | wc -l)" -ge 3 ]; }

client() { mount -t glusterfs "$server:/vaults" "$2"; }

# What one client has in memory of the store, another one does not change.
prepare_shared() {
    local option
    for option in write-behind stat-prefetch quick-read read-ahead io-cache readdir-ahead open-behind nl-cache; do
        gluster --mode=script volume set vaults "performance.$option" off
    done
}

client_shared() {
    mount -t glusterfs -o direct-io-mode=enable,attribute-timeout=0,entry-timeout=0,negative-timeout=0 \
        "$server:/vaults" "$2"
}

break_part() { brick_processes 2 | xargs kill -KILL; }

heal_part() {
    gluster --mode=script volume start vaults force
    until_ready 30 all_bricks
    # The daemon that heals may not have found the brick yet.
    until_ready 60 gluster --mode=script volume heal vaults
    until_ready 60 nothing_to_heal
}

nothing_to_heal() {
    local entries
    entries=$(gluster --mode=script volume heal vaults info | sed -n 's/^Number of entries: //p' | sort -u)
    [ "$entries" = 0 ]
}

crash() {
    pkill -KILL -x glusterfsd || true
    # Of the clients, which have the same name, none.
    pkill -KILL -f glustershd || true
    kill_begun glusterd
}

heal() {
    begin glusterd glusterd -N
    until_ready 30 gluster --mode=script volume info
    gluster --mode=script volume start vaults force || true
    until_ready 30 all_bricks
}

stop() { crash; }
