# shellcheck shell=bash
# user: root
# Installed as a user would, from a file, in a system without Swift.
set -euxo pipefail

if command -v swift || find / -xdev -name 'libswift*' | grep .; then exit 1; fi
apt-get install -y /guest/packages/latchkey.deb
[ "$(command -v latchkey)" = /usr/bin/latchkey ]
latchkey --version --verbose
[ "$(man -w latchkey.1 latchkey-mount latchkey.7 mount.latchkey.8 umount.fuse.latchkey.8 latchkey-config.5 \
    latchkey-policy.5 | grep -c '^/usr/share/man/man[1578]/.*\.gz$')" = 7 ]
test -s /usr/share/bash-completion/completions/latchkey
test -s /usr/share/zsh/vendor-completions/_latchkey
test -s /usr/share/fish/vendor_completions.d/latchkey.fish
test -s /usr/share/doc/latchkey/copyright
for name in mount.latchkey mount.fuse.latchkey umount.latchkey umount.fuse.latchkey; do
    [ "$(realpath "/sbin/$name")" = /usr/bin/latchkey ]
done
systemd-analyze verify latchkey@vault.service
# What is old in the folder of sockets stays.
mkdir -p /tmp/latchkey-12345 /tmp/other-12345
touch -d "40 days ago" /tmp/{latchkey,other}-12345/file
printf 'd /tmp 1777 root root 0\n' >/etc/tmpfiles.d/tmp.conf
systemd-tmpfiles --clean
[ -e /tmp/latchkey-12345/file ] && [ ! -e /tmp/other-12345/file ]
rm -r /tmp/latchkey-12345 /etc/tmpfiles.d/tmp.conf
XDG_RUNTIME_DIR=/run systemd-analyze --user verify latchkey@vault.service
# The example is a policy that the program accepts.
latchkey policy check --policy /usr/share/doc/latchkey/examples/policy.toml
