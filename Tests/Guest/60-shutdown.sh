# shellcheck shell=bash
# user: root
# A shutdown with mounted vaults, of a unit of the system, of a user's unit and of a user's login, all unlocked and with
# an open file: the agent locks them before the shutdown begins, their daemons end before the machine does, nothing
# stays mounted, and what was written is there.
set -euxo pipefail

umask 077
id ann >/dev/null 2>&1 || useradd --create-home --shell /bin/bash ann
as_ann() { runuser -l ann -c "$1"; }
init="latchkey init --passcode-file passcode --kdf-memory 19 --kdf-passes 2 --recovery-key-file"

folders="root:/root/kept ann:/home/ann/session ann:/home/ann/unit"

if [ "$1" = 1 ]; then
    mkdir /root/shutdown
    cd /root/shutdown
    echo "correct horse battery staple" >passcode
    $init recovery --name kept
    as_ann "echo correct horse battery staple >passcode; $init recovery.1 --name session; $init recovery.2 --name unit"

    # Stops after every unit and every login that mounts a vault, and notes what is left.
    cat >/etc/systemd/system/witness.service <<'END'
[Unit]
Before=latchkey@kept.service systemd-user-sessions.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/true
ExecStop=/bin/sh -c '{ findmnt -n -t fuse.latchkey; grep -lsx latchkey /proc/[0-9]*/comm; echo end; } >/root/shutdown/left'
END
    systemctl daemon-reload
    systemctl start witness latchkey@kept
    latchkey unlock --passcode-file passcode kept
    loginctl enable-linger ann
    as_ann "export XDG_RUNTIME_DIR=/run/user/\$(id -u)
        for _ in {1..300}; do systemctl --user is-system-running --wait && break; sleep 0.1; done
        systemctl --user start latchkey@unit
        latchkey unlock --passcode-file passcode unit
        latchkey open --passcode-file passcode session"
    [ "$(findmnt -n -t fuse.latchkey | wc -l)" = 3 ]
    for folder in $folders; do
        # Root does not see into a user's mount.
        systemd-run --uid="${folder%:*}" --property=Type=notify --property=NotifyAccess=all sh -c \
            "exec >>${folder#*:}/file && echo written before the shutdown && systemd-notify --ready && exec sleep 600"
    done
    # Delays the shutdown as the agent does, and notes whether all are locked before a unit is stopped.
    systemctl start latchkey-agent
    cat >/root/shutdown/watch.sh <<'END'
while [ "$(systemctl is-system-running)" != stopping ]; do
    locked=0
    for folder in /root/kept /home/ann/session /home/ann/unit; do
        if latchkey status --json "$folder" | grep -q '"state" *: *"locked"'; then locked=$((locked + 1)); fi
    done
    if [ "$locked" = 3 ]; then echo 3 >/root/shutdown/locked; exit; fi
    sleep 0.05
done
END
    systemd-run systemd-inhibit --what=shutdown --mode=delay --who=witness --why=test bash /root/shutdown/watch.sh
    for _ in {1..300}; do
        [ "$(systemd-inhibit --list --no-legend | grep -c 'shutdown.*delay')" = 2 ] && break
        sleep 0.1
    done
    systemd-inhibit --list --no-legend | grep '^Latchkey .*shutdown'
    systemd-inhibit --list --no-legend | grep '^witness .*shutdown'
    exit 194
fi

[ "$(cat /root/shutdown/locked)" = 3 ]
[ "$(cat /root/shutdown/left)" = end ]
cd /root/shutdown
latchkey open --passcode-file passcode kept
as_ann "latchkey open --passcode-file passcode session; latchkey open --passcode-file passcode unit"
for folder in $folders; do
    [ "$(runuser -u "${folder%:*}" cat "${folder#*:}/file")" = "written before the shutdown" ]
done
latchkey close kept
as_ann "latchkey close session; latchkey close unit"
