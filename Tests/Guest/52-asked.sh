# shellcheck shell=bash
# user: root
# A passcode without a terminal: a service of root is asked by systemd's agents, and a user by the user's own.
set -euxo pipefail

umask 077
passcode="correct horse battery staple"
mkdir /srv/asked
cd /srv/asked
mkdir dir
echo "$passcode" >passcode
latchkey init --passcode-file passcode --kdf-memory 19 --kdf-passes 2 --recovery-key-file recovery vault >/dev/null
latchkey mount vault dir
reply=/lib/systemd/systemd-reply-password
[ -x "$reply" ] || reply=/usr/lib/systemd/systemd-reply-password

# answer FOLDER TEXT: to the next question of latchkey's there that has this text in it, with what is on standard input.
answered=
answer() {
    local file socket
    for _ in {1..300}; do
        for file in "$1"/ask.*; do
            grep -qx "Id=latchkey" "$file" 2>/dev/null || continue
            socket=$(sed -n 's/^Socket=//p' "$file")
            [[ " $answered " != *" $socket "* ]] || continue
            answered+=" $socket"
            cat "$file"
            grep -F "Message=$2" "$file"
            "$reply" "${3:-1}" "$socket"
            return
        done
        sleep 0.1
    done
    echo "no question came"
    return 1
}
state() { latchkey status --json "$1" | sed -n 's/.*"state" *: *"\([a-z-]*\)".*/\1/p'; }
property() { systemctl show --property "$2" --value "$1"; }
ends() {
    for _ in {1..300}; do
        [ "$(property "$1" SubState)" = running ] || return 0
        sleep 0.1
    done
    return 1
}
# asks UNIT: unlocks in a service, which has no terminal and /dev/null as standard input.
asks() { systemd-run --quiet --unit="$1" --property=RemainAfterExit=yes latchkey unlock /srv/asked/dir; }

: "wrong, then right"
asks first
printf wrong | answer /run/systemd/ask-password "Passcode of /srv/asked/vault (latchkey):"
printf %s "$passcode" | answer /run/systemd/ask-password "The passcode is wrong"
ends first
[ "$(property first ExecMainStatus)" = 0 ]
[ "$(state /srv/asked/dir)" = unlocked ]
latchkey lock --now --wait /srv/asked/dir

: "refused by the person: nothing is tried"
asks second
answer /run/systemd/ask-password "Passcode of /srv/asked/vault (latchkey):" 0 </dev/null
ends second
[ "$(property second ExecMainStatus)" = 1 ]
journalctl --unit second --output cat | grep "got no answer; nothing was tried"
[ "$(state /srv/asked/dir)" = locked ]

: "stopped while it asks: the question goes too"
asks third
for _ in {1..300}; do grep -qx "Id=latchkey" /run/systemd/ask-password/ask.* 2>/dev/null && break; sleep 0.1; done
grep -x "Id=latchkey" /run/systemd/ask-password/ask.*
kill -TERM "$(property third MainPID)"
ends third
for _ in {1..300}; do grep -qsx "Id=latchkey" /run/systemd/ask-password/ask.* || break; sleep 0.1; done
if grep -x "Id=latchkey" /run/systemd/ask-password/ask.*; then exit 1; fi
systemctl reset-failed third
systemctl stop first
latchkey unmount /srv/asked/dir

: "an ordinary user has no agent: an error at once, or the user's own agent"
id ivan >/dev/null 2>&1 || useradd --create-home --shell /bin/bash ivan
as_ivan() { runuser -u ivan -- env -C /home/ivan HOME=/home/ivan XDG_RUNTIME_DIR=/home/ivan/run "$@"; }
as_ivan mkdir -m 700 run
as_ivan tee passcode <<<"$passcode" >/dev/null
as_ivan chmod 600 passcode
as_ivan latchkey init --passcode-file passcode --kdf-memory 19 --kdf-passes 2 --recovery-key-file recovery vault
if as_ivan latchkey slot test vault </dev/null 2>error; then exit 1; fi
grep "no passcode in standard input" error
if systemd-ask-password --help | grep -q -- --user; then
    as_ivan mkdir -p run/systemd/ask-password
    as_ivan setsid latchkey slot test vault </dev/null &
    asking=$!
    printf %s "$passcode" | answer /home/ivan/run/systemd/ask-password "Passcode of /home/ivan/vault (latchkey):"
    wait "$asking"
fi
