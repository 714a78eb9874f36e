# shellcheck shell=bash
# user: root
# Removed and purged: vaults, device keys and settings stay byte for byte, and open again after an installation.
set -euxo pipefail

mkdir -p /home/ann/.config/latchkey
echo "# mine" >/home/ann/.config/latchkey/config.toml
chown -R ann: /home/ann/.config
sums() { find /home/ann/vault /home/ann/.local/state/latchkey /home/ann/.config -type f -exec sha256sum {} + | sort; }

sums >/tmp/before
grep -q /home/ann/.local/state/latchkey/ /tmp/before
apt-get remove -y latchkey
if command -v latchkey; then exit 1; fi
sums | cmp - /tmp/before
apt-get install -y /guest/packages/latchkey.deb
apt-get purge -y latchkey
sums | cmp - /tmp/before
# Nothing of the package is left. /var/cache/man has the pages that a program has shown.
if find / -xdev -path /home -prune -o -path /guest -prune -o -path /var/log -prune -o -path /tmp -prune -o \
    -path /var/cache/man -prune -o -path /run/user -prune -o -name '*latchkey*' -print | grep .; then exit 1; fi
rm /home/ann/.config/latchkey/config.toml

apt-get install -y /guest/packages/latchkey.deb
runuser -l ann -c "latchkey mount --unlock --passcode-file passcode vault private && cat private/note &&
    latchkey unmount private"
