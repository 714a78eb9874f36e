# shellcheck shell=bash
# user: root
# The machine sleeps: the real logind and systemd-sleep, whose files of the kernel are stand-ins here. Before the kernel
# would stop the processes, the mounts are locked, also one with 10,000 cached files and 1 GiB that a program has mapped.
set -euxo pipefail

umask 077
mount -o remount,rw /sys
mkdir -p /sys/power
printf 'freeze mem\n' >/sys/power/state
printf '[s2idle]\n' >/sys/power/mem_sleep
systemctl restart systemd-logind
trap 'rm -rf /sys/power; mount -o remount,ro /sys' EXIT

tries() { for _ in {1..300}; do if "$@"; then return; fi; sleep 0.1; done; return 1; }
delays() { systemd-inhibit --list --no-legend | grep -q '^Latchkey .*sleep'; }
mkdir /root/sleep
cd /root/sleep
echo "correct horse battery staple" >passcode
latchkey init --passcode-file passcode --kdf-memory 19 --kdf-passes 2 --default-class complete \
    --recovery-key-file recovery --name sleeper
latchkey open --passcode-file passcode sleeper
# What systemd-sleep runs last, and first after the waking.
mkdir -p /usr/lib/systemd/system-sleep
cat >/usr/lib/systemd/system-sleep/witness <<'END'
#!/bin/sh
{
    echo "$1 $(latchkey status --json /root/sleeper | sed -n 's/.*"state" *: *"\([a-z-]*\)".*/\1/p')"
    if cat /root/sleeper/1; then :; fi
} >>/root/sleep/witness 2>&1
END
chmod 755 /usr/lib/systemd/system-sleep/witness

mkdir /root/sleeper/files
(cd /root/sleeper/files; set +x; for number in {1..10000}; do echo "$number" >"$number"; done)
echo one >/root/sleeper/1
head -c 1G /dev/zero >/root/sleeper/large
latchkey class set complete-until-first-user-authentication /root/sleeper/1
sync
systemctl start latchkey-agent
tries delays

# slept ROUND: waits until the machine has been asleep that often, and is awake again.
slept() { [ "$(grep -c ^post witness)" -ge "$1" ]; }
# Seconds since `begin`. The delay is over when systemd-sleep begins.
delayed() {
    journalctl --no-pager --boot --output=short-unix --identifier=systemd-sleep | awk -v from="$begin" '
        /Entering sleep state|Performing sleep operation/ { to = $1 } END { printf "%.2f", to - from }'
}
touch witness
for round in 1 2; do
    : "round $round"
    find /root/sleeper/files -type f -exec cat {} + >/dev/null
    rm -f mapped
    /guest/map /root/sleeper/large >mapped &
    map=$!
    tries grep mapped mapped
    # A writer, which the lock stops.
    rm -f acknowledged
    (set +x; number=0; while echo "$number" >>/root/sleeper/written; do echo "$number" >acknowledged
        number=$((number + 1)); done) 2>/dev/null &
    writer=$!
    tries test -s acknowledged
    begin=$(date +%s.%N)
    systemctl suspend
    tries slept "$round"
    tries delays
    echo "figure: 10,000 cached files and 1 GiB mapped: the machine could sleep $(delayed) s after the call of logind"
    latchkey agent --status | grep '^  sleep .* 1 locked$'
    wait "$writer" || true
    if cat /root/sleeper/written; then exit 1; fi
    kill -USR1 "$map"
    status=0
    wait "$map" || status=$?
    [ "$status" = $((128 + 7)) ]
    latchkey unlock --passcode-file passcode sleeper
    [ "$(tail -n 1 /root/sleeper/written)" -ge "$(cat acknowledged)" ]
    [ "$(cat /root/sleeper/files/10000)" = 10000 ]
    rm /root/sleeper/written
    # The next sleep closes class C as well.
    [ "$round" = 2 ] || printf '[agent]\ndeep-at-sleep = true\n' >>/root/.config/latchkey/config.toml
done

: "daemons of another user that never answer"
id mallory >/dev/null 2>&1 || useradd --create-home --shell /bin/bash mallory
mkfifo input
runuser -u mallory -- /guest/foreign silent "/tmp/latchkey-$(id -u mallory)" 500 <input >said &
silent=$!
exec 9>input
tries grep ready said
begin=$(date +%s.%N)
systemctl suspend
tries slept 3
tries delays
echo "figure: beside 500 daemons that do not answer: the machine could sleep $(delayed) s after the call of logind"
latchkey agent --status | grep '^  sleep .* 1 locked'
exec 9>&-
wait "$silent"
rm -rf "/tmp/latchkey-$(id -u mallory)"
cat witness
[ "$(cat witness)" = "pre locked
one
post locked
one
pre before-first-unlock
cat: /root/sleeper/1: Required key not available
post before-first-unlock
cat: /root/sleeper/1: Required key not available
pre before-first-unlock
cat: /root/sleeper/1: Required key not available
post before-first-unlock
cat: /root/sleeper/1: Required key not available" ]
systemctl stop latchkey-agent
latchkey close sleeper
sed -i '/^\[agent\]/,$d' /root/.config/latchkey/config.toml
rm /usr/lib/systemd/system-sleep/witness
