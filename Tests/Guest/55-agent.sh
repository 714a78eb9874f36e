# shellcheck shell=bash
# user: root
# The agent with the real logind: a session that locks and ends, another user, the delay of sleep; the agent killed,
# logind restarted.
set -euxo pipefail

umask 077
init="latchkey init --passcode-file passcode --kdf-memory 19 --kdf-passes 2 --default-class complete --recovery-key-file"
for user in gail hank; do id "$user" >/dev/null 2>&1 || useradd --create-home --shell /bin/bash "$user"; done
# From systemd 254 on only a session with a screen can be locked: so the next login has one, for logind.
sed -i '0,/^session/s//session optional pam_systemd.so class=user type=x11\n&/' /etc/pam.d/runuser-l
# tries COMMAND...: until it succeeds.
tries() { for _ in {1..300}; do if "$@"; then return; fi; sleep 0.1; done; return 1; }
heard() { latchkey agent --status | grep "^  $1 " | grep -qv never; }
field() { latchkey status --json "$1" | sed -n "s/.*\"$2\" *: *\"\{0,1\}\([a-z0-9.-]*\).*/\1/p"; }
is() { [ "$(field "$1" state)" = "$2" ]; }
delays() { systemd-inhibit --list --no-legend | grep -q '^Latchkey .*sleep'; }

agents() {
    for user in root gail; do
        runuser -u $user -- env -C / XDG_RUNTIME_DIR="/run/user/$(id -u $user)" latchkey agent --status || true
        runuser -u $user -- latchkey status || true
    done
    journalctl --no-pager --boot _COMM=latchkey | tail -n 40
}
trap '[ $? = 0 ] || agents; sed -i /type=x11/d /etc/pam.d/runuser-l' EXIT

: "a session of an ordinary user, which stays after its end"
loginctl enable-linger gail
cat >/home/gail/test.sh <<'END'
set -euxo pipefail
cd
export XDG_RUNTIME_DIR=/run/user/$(id -u)
umask 077
for _ in {1..300}; do systemctl --user is-system-running --wait && break; sleep 0.1; done
echo "correct horse battery staple" >passcode
$init recovery --name work
latchkey open --passcode-file passcode work
echo contents >work/file
systemctl --user start latchkey-agent

: "loginctl lock-session: ten seconds later, not before nine, the file is locked"
begin=$(date +%s%N)
loginctl lock-session "$XDG_SESSION_ID"
tries is work locking
while cat work/file >/dev/null; do sleep 0.02; done
took=$((($(date +%s%N) - begin) / 1000000))
echo "figure: the file was locked after $took ms, the keys were gone $(field work lastLockDuration) s after the deadline"
[ "$took" -ge 9000 ]
if cat work/file 2>error; then exit 1; fi
grep "Required key not available" error
tries is work locked
awk -v late="$(field work lastLockDuration)" 'BEGIN { exit !(late < 0.5) }'
heard session-lock

: "an unlock of the session in the grace takes the lock back, and one after it unlocks nothing"
loginctl unlock-session "$XDG_SESSION_ID"
is work locked
latchkey unlock --passcode-file passcode work
loginctl lock-session "$XDG_SESSION_ID"
tries is work locking
loginctl unlock-session "$XDG_SESSION_ID"
tries is work unlocked

: "the hint of a desktop"
session=/org/freedesktop/login1/session/$(busctl get-property org.freedesktop.login1 \
    /org/freedesktop/login1/session/self org.freedesktop.login1.Session Id | cut -d '"' -f 2)
busctl call org.freedesktop.login1 /org/freedesktop/login1/session/self org.freedesktop.login1.Session SetLockedHint b true
tries is work locking
busctl call org.freedesktop.login1 /org/freedesktop/login1/session/self org.freedesktop.login1.Session SetLockedHint b false
tries is work unlocked

: "a killed agent is started again, and hears the next signal"
old=$(systemctl --user show --property MainPID --value latchkey-agent)
kill -9 "$old"
again() { local new; new=$(systemctl --user show --property MainPID --value latchkey-agent); [ "$new" != 0 ] && [ "$new" != "$old" ]; }
tries again
tries systemctl --user is-active latchkey-agent
loginctl lock-session "$XDG_SESSION_ID"
tries is work locking
loginctl unlock-session "$XDG_SESSION_ID"
tries is work unlocked
touch ready
# Root's part goes on while this session is there.
for _ in {1..600}; do [ -e leave ] && exit; sleep 0.1; done
exit 1
END
{
    declare -f tries heard field is
    echo "init='$init'"
    cat /home/gail/test.sh
} >/home/gail/whole.sh
chown gail: /home/gail/whole.sh
runuser -l gail -c "bash whole.sh" &
session=$!
for _ in {1..1200}; do
    if [ -e /home/gail/ready ] || ! kill -0 "$session"; then break; fi
    sleep 0.1
done
[ -e /home/gail/ready ]
as_gail() { runuser -u gail -- env -C /home/gail HOME=/home/gail XDG_RUNTIME_DIR="/run/user/$(id -u gail)" "$@"; }
of_gail() { as_gail bash -euc "$(declare -f tries heard field is); $*"; }

: "another user can neither lock it nor learn of it"
id=$(loginctl list-sessions --no-legend | awk '$3 == "gail" { print $1; exit }')
if runuser -u hank -- loginctl lock-session "$id"; then exit 1; fi
# The bus takes signals of any sender: from one connection to all, and to that of the agent alone.
agent=$(as_gail systemctl --user show --property MainPID --value latchkey-agent)
name=$(busctl list --no-legend | awk -v pid="$agent" '$2 == pid { print $1; exit }')
for destination in "" "--destination=$name"; do
    runuser -u hank -- busctl ${destination:+"$destination"} emit "/org/freedesktop/login1/session/$id" \
        org.freedesktop.login1.Session Lock
done
of_gail 'is work unlocked'
[ "$(runuser -l hank -c "latchkey status")" = "$(printf 'No vault is mounted.\n  try: latchkey mount VAULT DIR')" ]
if runuser -l hank -c "latchkey agent --status"; then exit 1; fi

: "root's agent delays sleep and shutdown, also after a restart of logind, and locks only the session's user"
mkdir /root/agent
cd /root/agent
echo "correct horse battery staple" >passcode
$init recovery --name agents
latchkey open --passcode-file passcode agents
systemctl start latchkey-agent
tries delays
systemd-analyze security latchkey-agent.service --no-pager | tail -n 1
systemctl restart systemd-logind
tries delays
loginctl lock-session "$id"
tries of_gail 'is work locking'
is agents unlocked
: "both agents have asked for that lock, and both take it back"
tries of_gail 'heard session-lock'
loginctl unlock-session "$id"
tries of_gail 'is work unlocked'

: "the last session ends"
as_gail systemctl --user stop latchkey-agent
touch /home/gail/leave
wait "$session"
tries of_gail 'is work locking'
heard logout
of_gail 'latchkey close work'
systemctl stop latchkey-agent
latchkey close agents
loginctl disable-linger gail
