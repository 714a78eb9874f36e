# shellcheck shell=bash
# user: root
# Upgraded while an ordinary user's vault is mounted and written to: the mount goes on with its daemon, every line that
# the writer was told of is there, and status says that a newer version is installed.
set -euxo pipefail

as_ann() { runuser -l ann -c "$1"; }

as_ann "latchkey mount --unlock --passcode-file passcode vault private"
pid=$(as_ann "latchkey status --json private" | sed -n 's/.*"pid" : \([0-9]*\).*/\1/p')
if as_ann "latchkey status --json private" | grep newerInstalled; then exit 1; fi

# Writes until the file "stop" comes, and notes outside of the mount each line that fsync has accepted.
cat >/home/ann/writer <<'EOF'
#!/bin/bash
set -e
number=0
while [ ! -e stop ] && [ "$number" -lt 100000 ]; do
    number=$((number + 1))
    echo "line $number" >>private/lines
    sync private/lines
    echo "$number" >accepted.new
    mv accepted.new accepted
done
EOF
chmod 755 /home/ann/writer
as_ann "./writer" &
writer=$!
until [ -e /home/ann/accepted ]; do kill -0 "$writer"; sleep 0.1; done

before=$(cat /home/ann/accepted)
apt-get install -y /guest/packages/latchkey-later.deb
dpkg-query -W -f '${Version}' latchkey | grep -F +later
until [ "$(cat /home/ann/accepted)" -gt $((before + 20)) ]; do kill -0 "$writer"; sleep 0.1; done

as_ann "latchkey status --json private" >/tmp/status
grep '"newerInstalled" : true' /tmp/status
grep "\"pid\" : $pid" /tmp/status
as_ann "latchkey status private" | grep "a newer version is installed"
touch /home/ann/stop
wait "$writer"

# The new program locks, unlocks and unmounts the mount of the old one.
as_ann "latchkey lock --now --wait private; latchkey unlock --passcode-file passcode private; latchkey unmount private"
# The daemon has written everything and answers no more; the kernel may take a moment to take the process away.
for _ in {1..100}; do [ -e "/proc/$pid" ] || break; sleep 0.1; done
[ ! -e "/proc/$pid" ]
as_ann "latchkey mount --unlock --passcode-file passcode vault private"
accepted=$(cat /home/ann/accepted)
seq -f 'line %g' 1 "$accepted" >/tmp/expected
as_ann "head -n $accepted private/lines" | cmp - /tmp/expected
if as_ann "latchkey status --json private" | grep newerInstalled; then exit 1; fi
as_ann "latchkey unmount private; latchkey fsck --unlock --passcode-file passcode vault"
