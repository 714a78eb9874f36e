# shellcheck shell=bash
# user: root
# A session's lock locks its user's vaults, whatever another user's programs do: flood the agent's connection with
# signals, or have hundreds of daemons that never answer.
set -euxo pipefail

umask 077
for user in peggy mallory; do id "$user" >/dev/null 2>&1 || useradd --create-home --shell /bin/bash "$user"; done
# From systemd 254 on only a session with a screen can be locked: so the next login has one, for logind.
sed -i '0,/^session/s//session optional pam_systemd.so class=user type=x11\n&/' /etc/pam.d/runuser-l
trap 'sed -i /type=x11/d /etc/pam.d/runuser-l' EXIT
tries() { for _ in {1..300}; do if "$@"; then return; fi; sleep 0.1; done; return 1; }
# login USER: a session that lasts until ~/leave is there; its number is in `session`.
login() {
    runuser -l "$1" -c 'echo "$XDG_SESSION_ID" >session; while [ ! -e leave ]; do sleep 0.1; done' &
    tries test -s "/home/$1/session"
    session=$(cat "/home/$1/session")
}
as() { local user=$1; shift; runuser -u "$user" -- env -C "/home/$user" HOME="/home/$user" \
    XDG_RUNTIME_DIR="/run/user/$(id -u "$user")" "$@"; }
is() { as peggy latchkey status --json work | grep -q "\"state\" *: *\"$1\""; }
resident() { awk '/^VmRSS/ { print int($2 / 1024) }' "/proc/$1/status"; }
# A program of mallory's, which ends when its standard input does.
begin() {
    rm -f /run/foreign
    mkfifo /run/foreign
    runuser -u mallory -- /guest/foreign "$@" </run/foreign >/run/foreign.said 2>&1 &
    foreign=$!
    exec 9>/run/foreign
}
end() { exec 9>&-; wait "$foreign"; }

login peggy
peggy=$session
login mallory
mallory=$session
echo "correct horse battery staple" >/home/peggy/passcode
chown peggy: /home/peggy/passcode
as peggy latchkey init --passcode-file passcode --kdf-memory 19 --kdf-passes 2 --default-class complete \
    --recovery-key-file recovery --name work
as peggy sh -c 'echo "grace = 1" >>.config/latchkey/config.toml'
as peggy latchkey open --passcode-file passcode work
as peggy systemctl --user start latchkey-agent
agent=$(as peggy systemctl --user show --property MainPID --value latchkey-agent)
name=''
connection() { name=$(busctl list --no-legend | awk -v pid="$agent" '$2 == pid { print $1; exit }'); [ -n "$name" ]; }
tries connection
locks() {
    loginctl lock-session "$peggy"
    tries is locked
    as peggy latchkey unlock --passcode-file passcode work
}
locks
before=$(resident "$agent")

: "signals that flood the agent's connection, without and with large texts"
for bytes in 0 1000000 16000000; do
    begin flood "$name" "$bytes"
    for _ in {1..10}; do locks; done
    now=$(resident "$agent")
    end
    sent=$(cat /run/foreign.said)
    echo "figure: 10 of 10 locks in a flood of $sent of $bytes bytes; the agent had $before MiB before it, then $now"
    [ "${sent% *}" -gt 20 ]
    [ "$(as peggy systemctl --user show --property MainPID --value latchkey-agent)" = "$agent" ]
    # One message can be as large as the bus allows, 32 MiB.
    [ "$now" -lt $((before + 80)) ]
done
as peggy systemctl --user stop latchkey-agent

: "daemons that never answer, with root's agent for both users"
systemctl start latchkey-agent
begin silent "/tmp/latchkey-$(id -u mallory)" 500
tries grep ready /run/foreign.said
loginctl lock-session "$mallory"
start=$(date +%s%N)
locks
echo "figure: beside 500 daemons that do not answer, a lock took $((($(date +%s%N) - start) / 1000000)) ms"
for _ in {1..5}; do
    loginctl lock-session "$mallory"
    locks
done
end
systemctl stop latchkey-agent

touch /home/peggy/leave /home/mallory/leave
as peggy latchkey close work
wait
rm -rf "/tmp/latchkey-$(id -u mallory)"
