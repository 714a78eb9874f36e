# shellcheck shell=bash
# user: root
# A thousand logins with a password that is not the vault's, and some with the right one: no process, file or
# descriptor is left, and one wrong passcode is counted.
set -euxo pipefail

apt-get install -y /guest/packages/libpam-latchkey.deb
umask 077
useradd --create-home --shell /bin/bash finn
# A cheap hash: the logins are tried, not the hash.
echo "finn:the login's password" | chpasswd -c SHA256 -s 1000
cat >/etc/pam.d/latchkey-test <<'END'
auth requisite pam_unix.so
auth optional pam_latchkey.so
session required pam_permit.so
session optional pam_latchkey.so
END
as() { setpriv --reuid=finn --regid=finn --init-groups env -i -C /home/finn HOME=/home/finn PATH=/usr/bin:/bin "$@"; }
echo "correct horse battery staple" >/home/finn/passcode
chown finn: /home/finn/passcode
as latchkey init --name work --passcode-file passcode --kdf-memory 19 --kdf-passes 2 --recovery-key-file recovery
echo "unlock-at-login = true" | as tee -a /home/finn/.config/latchkey/config.toml
as latchkey mount work
daemon=$(as latchkey status --json work | sed -n 's/.*"pid" *: *\([0-9]*\).*/\1/p')
wrong() { find /home/finn/.local/state/latchkey -name '*.tries' -exec od -An -tu4 -j24 -N4 {} + | tr -d ' '; }
everything() {
    as find /home/finn -xdev | sort
    find /tmp /run/user -xdev | sort
    find "/proc/$daemon/fd" -mindepth 1 | wc -l
    find "/proc/$daemon/task" -mindepth 1 -maxdepth 1 | wc -l
}
running() { grep -lszx -e '--[-]login' /proc/[0-9]*/cmdline; }
ended() { for _ in {1..600}; do running || return 0; sleep 0.1; done; return 1; }
# The daemon's connections end a moment after the clients.
settles() { for _ in {1..100}; do everything >/tmp-now; cmp -s /tmp-before /tmp-now && return 0; sleep 0.1; done; return 1; }

echo "the login's password" | pamtester latchkey-test finn authenticate open_session close_session
ended
[ "$(wrong)" = 1 ]
as cat "/proc/$daemon/comm"
everything >/tmp-before
set +x
for _ in {1..1000}; do
    echo "the login's password" | pamtester latchkey-test finn authenticate open_session close_session >/dev/null
done
set -x
ended
[ "$(wrong)" = 1 ]
settles || { diff /tmp-before /tmp-now; exit 1; }

as latchkey unlock --passcode-file passcode work
[ "$(wrong)" = 0 ]
echo "finn:correct horse battery staple" | chpasswd -c SHA256 -s 1000
for _ in {1..20}; do
    as latchkey lock --now --wait work 2>/dev/null
    echo "correct horse battery staple" | pamtester latchkey-test finn authenticate open_session close_session
    as latchkey status work | grep -w unlocked
done
ended
[ "$(wrong)" = 0 ]
settles || { diff /tmp-before /tmp-now; exit 1; }
as latchkey unmount work
rm /etc/pam.d/latchkey-test /tmp-before /tmp-now
apt-get purge -y libpam-latchkey
