# shellcheck shell=bash
# user: root
# The PAM module, with the real login, su and passwd, and with pamtester: which passwords unlock which vaults.
set -euxo pipefail

password="correct horse battery staple"
other="another horse battery stapler"
umask 077

# as USER COMMAND...: as a login of that user, without PAM.
as() {
    local user=$1
    shift
    setpriv --reuid="$user" --regid="$user" --init-groups env -i -C "/home/$user" HOME="/home/$user" \
        PATH=/usr/bin:/bin "$@"
}
state() { as "$1" latchkey status --json "$2" | sed -n 's/.*"state" *: *"\([a-z-]*\)".*/\1/p'; }
lock() { as "$1" latchkey lock --now --wait "$2" 2>/dev/null; }
# becomes USER NAME STATE: waits for the state of a vault.
becomes() {
    for _ in {1..300}; do [ "$(state "$1" "$2" 2>/dev/null)" != "$3" ] || return 0; sleep 0.1; done
    return 1
}
# logs_in USER [PASSWORD] [SERVICE]: whether PAM lets the user in; within a time that no login exceeds.
logs_in() { echo "${2:-$password}" | timeout 40 pamtester "${3:-login}" "$1" authenticate; }
# wrong USER: the bytes that count wrong passcodes, of all vaults of the user.
wrong() { find "/home/$1/.local/state/latchkey" -name '*.tries' -exec od -An -tu4 -j24 -N4 {} +; }
# logged TEXT: waits until the log has a line of this test.
logged() {
    for _ in {1..100}; do
        journalctl --quiet --since "$since" SYSLOG_FACILITY=10 | grep -F "$1" && return 0
        sleep 0.1
    done
    return 1
}
# vault USER NAME PASSCODE: one that is unlocked at logins.
vault() {
    echo "$3" | as "$1" latchkey init --name "$2" --kdf-memory 19 --kdf-passes 2 --recovery-key-file "$2.recovery"
    echo "unlock-at-login = true" | as "$1" tee -a "/home/$1/.config/latchkey/config.toml"
}
# For expect: fails if a text does not come.
# shellcheck disable=SC2016 # Tcl's variables
want='set timeout 90
    proc want {text} { expect -- $text {} timeout { exit 90 } eof { exit 91 } }
    proc finish {} { expect eof {} timeout { exit 92 }; lassign [wait] - - - status; exit $status }'
since=$(date '+%F %T')

: "the package brings no line of PAM; pam-auth-update adds them behind those of pam_unix"
apt-get install -y /guest/packages/libpam-latchkey.deb
if grep -r pam_latchkey /etc/pam.d; then exit 1; fi
module=$(dpkg -L libpam-latchkey | grep 'pam_latchkey\.so$')
[ -z "$(ldd "$module" | grep -E 'swift|stdc\+\+' || true)" ]
[ "$(man -w pam_latchkey | grep -c '/man8/pam_latchkey\.8')" = 1 ]
pam-auth-update --enable latchkey
for phase in auth session password; do
    [ "$(grep -E "pam_(unix|latchkey)\.so" "/etc/pam.d/common-$phase" | tail -n 1 | tr -s '\t ' ' ')" = \
        "$phase optional pam_latchkey.so " ] ||
        [ "$(grep -c "^$phase.*optional.*pam_latchkey\.so" "/etc/pam.d/common-$phase")" = 1 ]
done
for user in cleo dave; do
    useradd --create-home --shell /bin/bash "$user"
    echo "$user:$password" | chpasswd
done
vault cleo work "$password"
vault dave deeds "$other"
as cleo latchkey config check | grep "the passcode of a login unlocks it"

: "not mounted: the login goes on"
logs_in cleo

: "the right passcode unlocks, before and after a lock"
as cleo latchkey mount work
logs_in cleo
[ "$(state cleo work)" = unlocked ]
echo mine | as cleo tee /home/cleo/work/note
lock cleo work
logs_in cleo
[ "$(as cleo cat work/note)" = mine ]
logged "vault work is unlocked"

: "a wrong password of the login is tried on no vault"
lock cleo work
if logs_in cleo wrong; then exit 1; fi
[ "$(state cleo work)" = locked ]
[ "$(wrong cleo | tr -d ' ')" = 0 ]

: "a vault without the line is not asked"
sed -i 's/^unlock-at-login = true/unlock-at-login = false/' /home/cleo/.config/latchkey/config.toml
logs_in cleo
[ "$(state cleo work)" = locked ]
sed -i 's/^unlock-at-login = false/unlock-at-login = true/' /home/cleo/.config/latchkey/config.toml
: "nor by a configuration that another user can write"
chmod 666 /home/cleo/.config/latchkey/config.toml
logs_in cleo
[ "$(state cleo work)" = locked ]
chmod 600 /home/cleo/.config/latchkey/config.toml
: "sudo confirms a command, and is no login"
cat >/etc/sudoers.d/latchkey <<'END'
dave ALL = (ALL) ALL
cleo ALL = (ALL) ALL
Defaults:dave pam_service=latchkey-sudo
Defaults timestamp_timeout=0
END
cp /etc/pam.d/sudo /etc/pam.d/latchkey-sudo
# By itself pam-auth-update adds the module to interactive sessions only.
echo "session optional pam_latchkey.so debug" >>/etc/pam.d/latchkey-sudo
chmod 440 /etc/sudoers.d/latchkey
echo "$password" | as cleo sudo -S -u dave true
[ "$(state cleo work)" = locked ]
: "under a name that the module takes for a login: the session is of another user than the password"
echo "$password" | as dave sudo -S -u cleo true
echo "$password" | as dave sudo -S -u cleo sleep 2
[ "$(state cleo work)" = locked ]
rm /etc/sudoers.d/latchkey /etc/pam.d/latchkey-sudo

: "another passcode than the login's: lets in, counts one, and none by later logins until a right one"
as dave latchkey mount deeds
logs_in dave
[ "$(state dave deeds)" = before-first-unlock ]
[ "$(wrong dave | tr -d ' ')" = 1 ]
logged "vault deeds stays locked: the passcode is wrong"
logs_in dave
[ "$(wrong dave | tr -d ' ')" = 1 ]
logged "the passcode was not tried"
echo "$other" | as dave latchkey unlock deeds
[ "$(wrong dave | tr -d ' ')" = 0 ]
lock dave deeds

: "su to another user, with that one's password: that one's vault alone"
as dave expect -c "$want
    spawn su cleo -c {latchkey status work}
    want Password:
    send \"$password\r\"
    finish"
becomes cleo work unlocked
[ "$(state dave deeds)" = locked ]
: "su by root asks for no password"
lock cleo work
su cleo -c true
[ "$(state cleo work)" = locked ]

: "a daemon that does not answer delays the login for a bounded time, one that is dead for none"
daemon=$(as cleo latchkey status --json work | sed -n 's/.*"pid" *: *\([0-9]*\).*/\1/p')
kill -STOP "$daemon"
logs_in cleo
kill -CONT "$daemon"
# The unlock may have been asked for already.
for _ in {1..300}; do grep -lszx -e '--[-]login' /proc/[0-9]*/cmdline || break; sleep 0.1; done
kill -KILL "$daemon"
logs_in cleo
as cleo fusermount3 -u work

: "the real login: the user's unit mounts the vault after the session is open"
mkdir -p /home/cleo/.config/systemd/user/default.target.wants
ln -s /usr/lib/systemd/user/latchkey@.service \
    /home/cleo/.config/systemd/user/default.target.wants/latchkey@work.service
chown -R cleo: /home/cleo/.config
# Without this, the manager of an earlier session might still run, which has not read the link.
systemctl stop "user@$(id -u cleo)"
expect -c "$want
    spawn login cleo
    want Password:
    send \"$password\r\"
    want {*cleo@*\\$ }
    send {for i in \$(seq 300); do grep -qx mine work/note && break; sleep 0.1; done; cat work/note && echo no\"\"ted}
    send \"\r\"
    want noted
    send \"exit\r\"
    finish"
: "an expired password is changed by the login: the vault that is mounted after that opens with the new one"
systemctl stop "user@$(id -u cleo)"
if mountpoint /home/cleo/work; then exit 1; fi
passwd --expire cleo
renewed="one more horse battery staple"
expect -c "$want
    spawn login cleo
    want Password:
    send \"$password\r\"
    want {Current password:}
    send \"$password\r\"
    want {New password:}
    send \"$renewed\r\"
    want {Retype new password:}
    send \"$renewed\r\"
    want {latchkey: the passcode of the vault work is changed, too}
    want {*cleo@*\\$ }
    send {for i in \$(seq 300); do grep -qx mine work/note && break; sleep 0.1; done; cat work/note && echo no\"\"ted}
    send \"\r\"
    want noted
    send \"exit\r\"
    finish"
[ "$(wrong cleo | tr -d ' ')" = 0 ]
systemctl stop "user@$(id -u cleo)"
password=$renewed

: "passwd changes the passcodes of registered vaults that have the old one, mounted or not"
rm -r /home/cleo/.config/systemd
vault cleo letters "$password"
vault cleo apart "$other"
as cleo latchkey mount work
# changes OLD NEW: the user's password, by passwd.
changes() {
    as cleo expect -c "$want
        spawn passwd
        want {Current password:}
        send \"$1\r\"
        want {New password:}
        send \"$2\r\"
        want {Retype new password:}
        send \"$2\r\"
        finish"
}
new="a third horse battery staples"
changes "$password" "$new" >/tmp/said
grep -F "latchkey: the passcode of the vault work is changed, too" /tmp/said
grep -F "latchkey: the passcode of the vault letters is changed, too" /tmp/said
grep -F "latchkey: the vault apart keeps its passcode: the passcode is wrong" /tmp/said
for name in work letters; do
    echo "$new" | as cleo latchkey slot test "$name"
    if echo "$password" | as cleo latchkey slot test "$name"; then exit 1; fi
    echo "$new" | as cleo latchkey slot test "$name"
done
echo "$other" | as cleo latchkey slot test apart
logs_in cleo "$new"
[ "$(state cleo work)" = unlocked ]
: "a weak one is the login's, but not the vault's"
changes "$new" "Password2026" >/tmp/said
grep -F "latchkey: the vault work keeps its passcode: the passcode is too weak" /tmp/said
logs_in cleo Password2026
echo "$new" | as cleo latchkey slot test work
as cleo latchkey unmount work
as dave latchkey unmount deeds

: "removed, it leaves no line"
apt-get remove -y libpam-latchkey
if grep -r pam_latchkey /etc/pam.d; then exit 1; fi
logs_in cleo Password2026
