# shellcheck shell=bash
# user: root
# What systemd does to user.slice before the machine sleeps, and the kernel to all of it: programs that read and write in
# a mount, and one that waits for an unlock, are frozen with their slice, a hundred times, while the daemon of the unit
# of the system goes on. For the comparison, the daemon of a login is frozen with its programs.
set -euxo pipefail

umask 077
slice=/sys/fs/cgroup/user.slice
[ -e "$slice/cgroup.freeze" ] || { echo "no control group that freezes"; exit 77; }
id ivan >/dev/null 2>&1 || useradd --create-home --shell /bin/bash ivan
as_ivan() { runuser -u ivan -- env -C /home/ivan HOME=/home/ivan "$@"; }
init="latchkey init --passcode-file passcode --kdf-memory 19 --kdf-passes 2 --default-class complete"
as_ivan sh -euc "umask 077; echo correct horse battery staple >passcode
    $init --recovery-key-file recovery.1 --name steady
    printf 'when-locked = \"freeze\"\n' >>.config/latchkey/config.toml
    $init --recovery-key-file recovery.2 --name frozen
    printf 'when-locked = \"freeze\"\n' >>.config/latchkey/config.toml"
mkdir -p /etc/systemd/system/latchkey@steady.service.d
printf '[Service]\nUser=ivan\nAmbientCapabilities=CAP_SYS_ADMIN\n' \
    >/etc/systemd/system/latchkey@steady.service.d/override.conf
systemctl daemon-reload
systemctl start latchkey@steady
as_ivan latchkey unlock --passcode-file passcode steady
case $(systemctl show -p ControlGroup --value latchkey@steady) in /user.slice/*) exit 1 ;; esac

# The programs of a login: four that read and write, for at most three minutes.
cat >/home/ivan/load.sh <<'END'
cd
for number in 1 2 3 4; do
    while [ ! -e stop ]; do
        echo "$number" >"$1/file$number"
        cat "$1"/file* >/dev/null 2>&1
        mv "$1/file$number" "$1/moved$number" && rm "$1/moved$number"
    done &
done
touch ready
wait
END
chown ivan: /home/ivan/load.sh
load=''
begin() {
    rm -f /home/ivan/{stop,ready}
    timeout 170 runuser -l ivan -c "$1; bash load.sh ~/$2" &
    load=$!
    for _ in {1..300}; do [ ! -e /home/ivan/ready ] || break; sleep 0.1; done
    [ -e /home/ivan/ready ]
}
end() { touch /home/ivan/stop; wait "$load"; }

# freezes COUNT TENTHS: how many of so many freezes are complete, each in that many tenths of a second.
freezes() {
    local - complete=0 tenths
    set +x
    for ((count = 0; count < $1; count++)); do
        echo 1 >"$slice/cgroup.freeze"
        for ((tenths = 0; tenths < $2 * 10; tenths++)); do
            if grep -q 'frozen 1' "$slice/cgroup.events"; then complete=$((complete + 1)); break; fi
            sleep 0.01
        done
        echo 0 >"$slice/cgroup.freeze"
        # They work for a while.
        sleep 0.02
    done
    echo "$complete"
}
trap 'echo 0 >$slice/cgroup.freeze; touch /home/ivan/stop' EXIT

: "the daemon is a unit of the system"
begin true steady
as_ivan cat /proc/self/cgroup
grep -q . "$slice"/user-"$(id -u ivan)".slice/session-*.scope/cgroup.procs
complete=$(freezes 100 50)
echo "figure: a daemon of a unit of the system: $complete of 100 freezes were complete"
[ "$complete" = 100 ]
end

: "a program that waits for the unlock: its call ends, and it waits again if it repeats the call"
as_ivan sh -c 'echo contents >steady/file'
as_ivan latchkey lock --now --wait steady
runuser -l ivan -c 'touch ready; until cat steady/file >said; do :; done' &
reader=$!
waiting() { latchkey status --json /home/ivan/steady | grep -q '"waitingRequests" *: *1'; }
for _ in {1..20}; do
    for _ in {1..300}; do if waiting; then break; fi; sleep 0.02; done
    waiting
    [ "$(freezes 1 50)" = 1 ]
done
as_ivan latchkey unlock --passcode-file passcode steady
wait "$reader"
[ "$(cat /home/ivan/said)" = contents ]
systemctl stop latchkey@steady

: "a daemon of the login"
begin "latchkey open --passcode-file passcode frozen" frozen
echo "figure: a daemon of the login: $(freezes 20 10) of 20 freezes were complete"
end
as_ivan latchkey close frozen
rm -r /etc/systemd/system/latchkey@steady.service.d
systemctl daemon-reload
