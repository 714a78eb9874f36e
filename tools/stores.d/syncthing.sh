# Syncthing, a folder in sync between two machines
# shellcheck shell=bash disable=SC2154

packages() { echo syncthing curl; }

version() { syncthing --version | sed 's/^\(syncthing v[^ ]*\).*/\1/'; }

address_of() { echo "${server%.*}.$((10 + $1))"; }

# Keys and folders of both machines. Each machine's instance runs on it, so a machine's end is that of its instance.
start() {
    local number other
    mkdir -p "$store"
    for number in 1 2; do
        make_disk "$store/side$number"
        mkdir -p "$store/side$number/data/.stfolder" "$store/side$number/home"
        syncthing generate --home "$store/side$number/home" --no-default-folder >/dev/null 2>&1
        syncthing --home "$store/side$number/home" --device-id >"$store/side$number/id" 2>/dev/null
    done
    for number in 1 2; do
        other=$((3 - number))
        cat >"$store/side$number/home/config.xml" <<END
<configuration version="36">
    <folder id="vaults" label="vaults" path="$store/side$number/data" type="sendreceive" rescanIntervalS="60"
        fsWatcherEnabled="true" fsWatcherDelayS="1" ignorePerms="false" autoNormalize="true">
        <device id="$(cat "$store/side1/id")"></device>
        <device id="$(cat "$store/side2/id")"></device>
        <minDiskFree unit="%">0</minDiskFree>
    </folder>
    <device id="$(cat "$store/side$number/id")" name="side$number"><address>dynamic</address></device>
    <device id="$(cat "$store/side$other/id")" name="side$other">
        <address>tcp://$(address_of "$other"):22000</address>
    </device>
    <gui enabled="true" tls="false"><address>0.0.0.0:8384</address><apikey>stores</apikey></gui>
    <options>
        <listenAddress>tcp://0.0.0.0:22000</listenAddress>
        <globalAnnounceEnabled>false</globalAnnounceEnabled>
        <localAnnounceEnabled>false</localAnnounceEnabled>
        <relaysEnabled>false</relaysEnabled>
        <natEnabled>false</natEnabled>
        <crashReportingEnabled>false</crashReportingEnabled>
        <urAccepted>-1</urAccepted>
        <autoUpgradeIntervalH>0</autoUpgradeIntervalH>
        <reconnectionIntervalS>2</reconnectionIntervalS>
    </options>
</configuration>
END
    done
}

client() {
    STNORESTART=1 STNOUPGRADE=1 begin "syncthing$1" syncthing serve --home "$store/side$1/home" --no-browser
    until_ready 30 is_listening "$address" 8384
    mount --bind "$store/side$1/data" "$2"
}

is_there() { ask "$1" system/ping; }

ask() { curl -s -f -m 5 -H 'X-API-Key: stores' "http://$(address_of "$1"):8384/rest/$2"; }

# Both machines that run have scanned what they have, and need nothing from the other one.
settle() {
    local number here=()
    for number in 1 2; do
        if is_there "$number" >/dev/null; then here+=("$number"); fi
    done
    for number in "${here[@]}"; do
        curl -s -m 60 -X POST -H 'X-API-Key: stores' "http://$(address_of "$number"):8384/rest/db/scan?folder=vaults"
    done
    [ ${#here[@]} = 2 ] || return 0
    until_ready 60 in_sync
}

in_sync() {
    local number
    for number in 1 2; do
        ask "$number" "db/status?folder=vaults" | grep -q '"needTotalItems": 0' || return 1
        ask "$number" "db/completion?device=$(cat "$store/side$((3 - number))/id")&folder=vaults" |
            grep -q '"completion": 100' || return 1
        ask "$number" "system/connections" | grep -q '"connected": true' || return 1
    done
}

stop() { :; }
