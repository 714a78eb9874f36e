# shellcheck shell=bash
# user: root
# The PAM module where something is wrong: programs that hang, flood or fail, hosts without descriptors, processes or
# signals, a vault that erases itself. In each case the user is let in. And what the program is started with.
set -euxo pipefail

apt-get install -y /guest/packages/libpam-latchkey.deb
password="correct horse battery staple"
umask 077
for user in gina hugo; do
    useradd --create-home --shell /bin/bash "$user"
    echo "$user:$password" | chpasswd -c SHA256 -s 1000
done
groupadd others
usermod -a -G others gina
as() { setpriv --reuid=gina --regid=gina --init-groups env -i -C /home/gina HOME=/home/gina PATH=/usr/bin:/bin "$@"; }
state() { as latchkey status --json "$1" | sed -n 's/.*"state" *: *"\([a-z-]*\)".*/\1/p'; }
wrong() { od -An -tu4 -j24 -N4 "$1.key.tries" | tr -d ' '; }
# service OPTION...: a service of PAM with the module, and these options.
service() {
    cat >/etc/pam.d/latchkey-test <<END
auth requisite pam_unix.so
auth optional pam_latchkey.so $*
session required pam_permit.so
session optional pam_latchkey.so $*
END
}
# logs_in [COMMAND...]: lets gina in, within a time that no login exceeds, from a process that COMMAND starts.
logs_in() {
    echo "$password" | timeout 40 "$@" pamtester latchkey-test gina authenticate open_session close_session
}
# program NAME LINE...: a shell script in place of latchkey.
program() {
    local path=/usr/local/bin/$1
    shift
    printf '%s\n' '#!/bin/sh' "$@" >"$path"
    chmod 755 "$path"
}
logged() {
    for _ in {1..100}; do
        journalctl --quiet --since "$since" SYSLOG_FACILITY=10 | grep -F -e "$1" && return 0
        sleep 0.1
    done
    return 1
}
since=$(date '+%F %T')

: "a program that never ends is left alone, and ended later"
# shellcheck disable=SC2016 # of the script
program hangs 'echo $$ >~/hangs' 'exec sleep 1000'
service debug timeout=1 program=/usr/local/bin/hangs
logs_in
logged "are not unlocked after 1 seconds"
hangs=$(cat /home/gina/hangs)
kill -0 "$hangs"

: "what the program gets"
# shellcheck disable=SC2016 # of the script
program shows 'exec 9>~/shown' 'cat >~/secret' 'tr "\0" "\n" </proc/$$/environ | sort >~/environment' \
    'tr "\0" "\n" </proc/$$/cmdline >~/words' 'ls -l /proc/$$/fd >~/descriptors' 'cat /proc/self/status >&9' \
    'cat /proc/$$/limits >&9' 'echo "session $(cut -d " " -f 6 /proc/$$/stat) $$" >&9' 'pwd >&9' 'exec 9>&-' \
    'mv ~/shown ~/complete'
service program=/usr/local/bin/shows
(
    trap '' HUP TERM CHLD PIPE
    ulimit -c unlimited
    umask 0
    cd /srv
    exec 7</etc/shadow 8</
    SECRET=variable logs_in
)
[ "$(cat /home/gina/secret)" = "$password" ]
[ "$(stat -c %s /home/gina/secret)" = ${#password} ]
# The shell sets PWD itself, when it starts another program.
diff /home/gina/environment - <<'END'
HOME=/home/gina
LANG=C.UTF-8
LOGNAME=gina
PATH=/usr/bin:/bin
USER=gina
END
grep -x -e ---login /home/gina/words
if grep -rF "$password" /home/gina/words /home/gina/environment; then exit 1; fi
if grep -E 'shadow|socket| 7 | 8 ' /home/gina/descriptors; then exit 1; fi
uid=$(id -u gina) gid=$(id -g gina)
grep -Px "Uid:(\t$uid){4}" /home/gina/complete
grep -Px "Gid:(\t$gid){4}" /home/gina/complete
[ "$(sed -n 's/^Groups:\t//p' /home/gina/complete | xargs -n 1 | sort -n)" = "$(id -G gina | xargs -n 1 | sort -n)" ]
for set in CapInh CapPrm CapEff CapAmb SigIgn SigBlk; do grep -Px "$set:\t0+" /home/gina/complete; done
grep -Px 'NoNewPrivs:\t1' /home/gina/complete
grep -Px 'Umask:\t0077' /home/gina/complete
grep -E '^Max core file size +0 +0 ' /home/gina/complete
read -r _ session leader < <(grep '^session' /home/gina/complete)
[ "$session" = "$leader" ]
grep -x / /home/gina/complete
# Handed over in memory alone.
if journalctl --quiet | grep -F "$password"; then exit 1; fi

: "a program that floods, that leaves a child with its output, that fails, that is missing"
program floods 'exec yes "-a line that is no answer"'
service timeout=1 program=/usr/local/bin/floods
logs_in
program leaves '(sleep 20) &' 'exit 0'
service timeout=1 program=/usr/local/bin/leaves
logs_in
program fails 'exit 3'
service program=/usr/local/bin/fails
logs_in
service program=/usr/local/bin/missing
logs_in
logged "/usr/local/bin/missing cannot be run as that user"
: "options that are wrong are said, and the defaults apply"
service timeout=0 timeout=31 timeout=1x timeout=-1 program=latchkey nonsense
logs_in
for text in 'not "0"' 'not "31"' 'not "1x"' 'not "-1"' 'not "latchkey"' 'no option "nonsense"'; do logged "$text"; done

: "a vault, and hosts that lack something"
vault() {
    # shellcheck disable=SC2086 # an option and its value
    echo "${3:-$password}" | as latchkey init --name "$1" --kdf-memory 19 --kdf-passes 2 --recovery-key-file "$1.recovery" \
        --device-key "/home/gina/$1.key" $2
    echo "unlock-at-login = true" | as tee -a /home/gina/.config/latchkey/config.toml
    as latchkey mount "$1"
}
locked() { as latchkey lock --now --wait work 2>/dev/null || true; }
vault work ""
service debug
# A host that ignores SIGCHLD has no child to wait for.
(trap '' CHLD; logs_in)
[ "$(state work)" = unlocked ]
locked
# Standard output and standard error closed: the pipes get their numbers.
logs_in >&- 2>&-
[ "$(state work)" = unlocked ]
locked
logs_in prlimit --nofile=12
[ "$(state work)" != "" ]
locked
# The user may have no other process.
logs_in prlimit --nproc=1
[ "$(state work)" = locked ]
logged "cannot be run as that user"
logs_in prlimit --memlock=0
logged "no memory can be locked for it"

: "a screen locker that runs as its user, and one that runs as another"
locked
cat >/etc/pam.d/latchkey-locker <<'END'
auth required pam_exec.so expose_authtok quiet /bin/true
auth optional pam_latchkey.so debug
END
chmod 644 /etc/pam.d/latchkey-locker
echo "$password" | runuser -u hugo -- timeout 40 pamtester latchkey-locker gina authenticate
[ "$(state work)" = locked ]
echo "$password" | runuser -u gina -- timeout 40 pamtester latchkey-locker gina authenticate
[ "$(state work)" = unlocked ]

: "a vault that erases itself after four wrong passcodes keeps three of them"
vault four "--erase-after 4" "another horse battery stapler"
for _ in 1 2 3 4 5 6; do logs_in; done
[ "$(wrong /home/gina/four)" = 1 ]
logged "vault four stays locked: the passcode was not tried: the last one that was tried is wrong"
echo "another horse battery stapler" | as latchkey unlock four
[ "$(state four)" = unlocked ]
[ "$(wrong /home/gina/four)" = 0 ]

: "the program of the login refuses what the module does not send"
for words in "" "unlock" "unlock x" "unlock 0" "other 1" "unlock 1 2"; do
    # shellcheck disable=SC2086 # the words
    if as latchkey ---login $words </dev/null; then exit 1; fi
done
# No passcode, too long a one, no NUL between two: nothing is tried.
before=$(wrong /home/gina/work)
as latchkey ---login unlock 1 </dev/null
locked
head -c 1025 /dev/zero | tr '\0' a | as latchkey ---login unlock 1
head -c 3000000 /dev/zero | tr '\0' a >/tmp/long
as latchkey ---login passwd 1 </tmp/long
rm /tmp/long
printf '%s' "$password" | as latchkey ---login passwd 1
printf '%s\0' "$password" | as latchkey ---login passwd 1
printf '\0%s' "$password" | as latchkey ---login passwd 1
[ "$(wrong /home/gina/work)" = "$before" ]
[ "$(state work)" = locked ]
echo "$password" | as latchkey slot test work

for name in work four; do as latchkey unmount "$name"; done
: "the program that hangs gets SIGALRM"
for _ in {1..1200}; do kill -0 "$hangs" 2>/dev/null || break; sleep 0.1; done
if kill -0 "$hangs"; then exit 1; fi
rm /etc/pam.d/latchkey-test /etc/pam.d/latchkey-locker
apt-get purge -y libpam-latchkey
