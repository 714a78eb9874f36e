# MooseFS, a master and two chunk servers, with SESSION_SUSTAIN_TIME = 60
# shellcheck shell=bash disable=SC2154

packages() { echo moosefs-master moosefs-chunkserver moosefs-client; }

version() { mfsmaster -v 2>&1 | sed -n 's/^version: /MooseFS /p'; }

server_processes() { pgrep -x 'mfsmaster|mfschunkserver' || true; }

chunk_port() { echo $((9420 + $1 * 10)); }

start() {
    local number folder
    mkdir -p "$store/master"
    printf 'DATA_PATH = %s\nEXPORTS_FILENAME = %s\n' "$store/master" "$store/exports" >"$store/master.cfg"
    printf 'WORKING_USER = root\nWORKING_GROUP = root\nMATOML_LISTEN_HOST = %s\nMATOCS_LISTEN_HOST = %s\n' \
        "$server" "$server" >>"$store/master.cfg"
    # By default the locks of a client that is gone are kept for a day.
    printf 'MATOCL_LISTEN_HOST = %s\nSESSION_SUSTAIN_TIME = 60\n' "$server" >>"$store/master.cfg"
    printf '* / rw,alldirs,admin,maproot=0:0\n' >"$store/exports"
    cp /var/lib/mfs/metadata.mfs.empty "$store/master/metadata.mfs"
    for number in 1 2; do
        folder=$store/chunks$number
        # Not a disk of its own: MooseFS writes nothing on one that is as small as those of the other stores.
        mkdir -p "$folder/data" "$folder/state"
        # It leaves 256 MiB of each disk free by default.
        printf '%s\n' "$folder/data" >"$folder/disks"
        printf 'WORKING_USER = root\nWORKING_GROUP = root\nDATA_PATH = %s\nHDD_CONF_FILENAME = %s\n' \
            "$folder/state" "$folder/disks" >"$folder.cfg"
        printf 'MASTER_HOST = %s\nBIND_HOST = %s\nCSSERV_LISTEN_HOST = %s\nCSSERV_LISTEN_PORT = %s\n' \
            "$server" "$server" "$server" "$(chunk_port "$number")" >>"$folder.cfg"
        printf 'HDD_LEAVE_SPACE_DEFAULT = 16MiB\n' >>"$folder.cfg"
    done
    heal
    until_ready 30 has_space
}

heal() {
    local number
    # After a SIGKILL the master reads its change logs again.
    begin master mfsmaster -f -c "$store/master.cfg" -a start
    until_ready 30 is_listening "$server" 9421
    for number in 1 2; do
        begin "chunks$number" mfschunkserver -f -c "$store/chunks$number.cfg" start
        until_ready 30 is_listening "$server" "$(chunk_port "$number")"
    done
}

# A client sees the space once the chunk servers have said what they have.
has_space() {
    local folder=$store/probe bytes
    mkdir -p "$folder"
    mfsmount "$folder" -H "$server" || return 1
    bytes=$(stat -f -c %b "$folder")
    umount -l "$folder"
    [ "$bytes" -gt 0 ]
}

client() { mfsmount "$2" -H "$server" -o allow_other; }

break_part() { kill_begun chunks2; }

heal_part() {
    begin chunks2 mfschunkserver -f -c "$store/chunks2.cfg" start
    until_ready 30 is_listening "$server" "$(chunk_port 2)"
}

crash() {
    kill_begun chunks1
    kill_begun chunks2
    kill_begun master
}

stop() { crash; }
