# shellcheck shell=bash
# user: root
# Mounted by the system: lines of fstab, the units of the system and of a user, credentials, crashes, a wrong passcode.
set -euxo pipefail

command -v latchkey
[ -e /usr/sbin/mount.latchkey ] || { echo "the helper of mount(8) is not installed"; exit 77; }
id ann >/dev/null 2>&1 || useradd --create-home --shell /bin/bash ann
umask 077

# as USER COMMAND...: as a login of that user.
as() {
    local user=$1
    shift
    runuser -u "$user" -- env -C "/home/$user" HOME="/home/$user" XDG_RUNTIME_DIR="/run/user/$(id -u "$user")" "$@"
}
# vault FOLDER [OPTION...]: what a vault needs in this folder: FOLDER/vault, FOLDER/dir, FOLDER/passcode.
vault() {
    mkdir -p "$1/dir"
    echo "correct horse battery staple" >"$1/passcode"
    latchkey init --passcode-file "$1/passcode" --kdf-memory 19 --kdf-passes 2 --recovery-key-file "$1/recovery" \
        "$1/vault" >/dev/null
}
# named FOLDER NAME: a vault of the configuration, whose passcode is in FOLDER/passcode.
named() {
    echo "correct horse battery staple" >"$1/passcode"
    latchkey init --passcode-file "$1/passcode" --kdf-memory 19 --kdf-passes 2 --recovery-key-file "$1/recovery" \
        --name "$2" >/dev/null
}
state() { latchkey status --json "$1" | sed -n 's/.*"state" *: *"\([a-z-]*\)".*/\1/p'; }
property() { systemctl show --property "$2" --value "$1"; }

: "a line of fstab, as systemd mounts it"
vault /srv/table
echo "/srv/table/vault /srv/table/dir latchkey nofail,passcode-file=/srv/table/passcode,grace=3,noexec 0 0" >>/etc/fstab
systemctl daemon-reload
systemctl start srv-table-dir.mount
[ "$(state /srv/table/dir)" = unlocked ]
findmnt -no OPTIONS /srv/table/dir | grep noexec
echo contents >/srv/table/dir/file
mount -o remount,ro /srv/table/dir
if touch /srv/table/dir/file; then exit 1; fi
systemctl stop srv-table-dir.mount
if mountpoint /srv/table/dir; then exit 1; fi

: "automount at the first access"
if [ -c /dev/autofs ]; then
    sed -i 's/nofail,passcode/noauto,x-systemd.automount,passcode/' /etc/fstab
    systemctl daemon-reload
    systemctl start srv-table-dir.automount
    [ "$(cat /srv/table/dir/file)" = contents ]
    systemctl stop srv-table-dir.automount srv-table-dir.mount
fi

: "a user mounts by a line of fstab"
as ann bash -euc "$(declare -f vault); umask 077; vault ~/by-fstab"
home=/home/ann/by-fstab
echo "$home/vault $home/dir latchkey noauto,user,passcode-file=$home/passcode 0 0" >>/etc/fstab
as ann mount /home/ann/by-fstab/dir
as ann sh -c 'echo mine >by-fstab/dir/file'
findmnt -no OPTIONS /home/ann/by-fstab/dir | grep "user_id=$(id -u ann)"
as ann umount /home/ann/by-fstab/dir

: "the unit of the system, as root"
mkdir -p /root/.config/latchkey /srv/root
cat >/root/.config/latchkey/config.toml <<'EOF'
[vaults.root]
folder = "/srv/root/vault"
mount = "/srv/root/dir"
EOF
named /srv/root root
latchkey config check
systemd-analyze security --no-pager --threshold=30 latchkey@root.service
systemctl start latchkey@root
[ "$(state /srv/root/dir)" = before-first-unlock ]
property latchkey@root StatusText | grep -x '/srv/root/dir: before-first-unlock'
latchkey unlock --passcode-file /srv/root/passcode /srv/root/dir
property latchkey@root StatusText | grep -x '/srv/root/dir: unlocked'
echo contents >/srv/root/dir/file
journalctl --output=verbose VAULT=/srv/root/vault >/srv/root/journal
grep -x ' *MOUNT=/srv/root/dir' /srv/root/journal
grep -x ' *SYSLOG_IDENTIFIER=latchkey' /srv/root/journal
grep -x ' *MESSAGE=state: unlocked' /srv/root/journal
echo damaged >/srv/root/dir/damaged
stored=$(latchkey explain --json /srv/root/dir/damaged | sed -n 's/.*"backingPath" *: *"\([^"]*\)".*/\1/p')
grep -x 'CapEff:.0*200000' "/proc/$(property latchkey@root MainPID)/status"
grep -x 'NoNewPrivs:.1' "/proc/$(property latchkey@root MainPID)/status"

: "a stop locks, and unmounts lazily what is in use; a second SIGTERM ends the daemon"
exec 5>>/srv/root/dir/file
echo more >&5
mkdir -p /run/systemd/system/latchkey@root.service.d
printf '[Service]\nTimeoutStopSec=2\n' >/run/systemd/system/latchkey@root.service.d/soon.conf
systemctl daemon-reload
systemctl stop latchkey@root
if mountpoint /srv/root/dir; then exit 1; fi
[ "$(property latchkey@root MainPID)" = 0 ]
exec 5>&-

: "a credential unlocks"
mkdir -p /etc/credstore.encrypted
systemd-creds encrypt --name=latchkey.passcode /srv/root/passcode /etc/credstore.encrypted/latchkey.root
systemctl start latchkey@root
[ "$(state /srv/root/dir)" = unlocked ]
[ "$(cat /srv/root/dir/file)" = "contents
more" ]

: "the journal says why a file is refused"
systemctl stop latchkey@root
printf changed | dd of="$stored" bs=1 seek=530 conv=notrunc status=none
systemctl start latchkey@root
if cat /srv/root/dir/damaged; then exit 1; fi
for _ in {1..100}; do
    journalctl --output=verbose PRIORITY=3 VAULT=/srv/root/vault | grep '^ *REASON=.' && break
    sleep 0.1
done
journalctl --output=verbose PRIORITY=3 VAULT=/srv/root/vault | grep '^ *REASON=.'

: "after a crash it starts again"
crashed=$(property latchkey@root MainPID)
kill -KILL "$crashed"
for _ in {1..300}; do
    [ "$(property latchkey@root SubState)" != running ] || [ "$(property latchkey@root MainPID)" = "$crashed" ] || break
    sleep 0.1
done
[ "$(property latchkey@root NRestarts)" = 1 ]
[ "$(head -n 1 /srv/root/dir/file)" = contents ]
systemctl stop latchkey@root

: "after a wrong passcode it does not"
echo wrong >/srv/root/wrong
systemd-creds encrypt --name=latchkey.passcode /srv/root/wrong /etc/credstore.encrypted/latchkey.root
if systemctl start latchkey@root; then exit 1; fi
[ "$(property latchkey@root ExecMainStatus)" = 3 ]
[ "$(property latchkey@root ActiveState)" = failed ]

: "the unit of the system, as a user"
as ann bash -euc "$(declare -f named); umask 077; mkdir by-system; named by-system deeds"
mkdir -p /etc/systemd/system/latchkey@deeds.service.d
printf '[Service]\nUser=ann\nAmbientCapabilities=CAP_SYS_ADMIN\n' \
    >/etc/systemd/system/latchkey@deeds.service.d/override.conf
systemctl daemon-reload
systemd-analyze security --no-pager --threshold=30 latchkey@deeds.service
systemctl start latchkey@deeds
as ann latchkey unlock --passcode-file by-system/passcode deeds
as ann sh -c 'echo mine >deeds/file; chmod 0 deeds/file; chmod 600 deeds/file'
grep "^Uid:.$(id -u ann)" "/proc/$(property latchkey@deeds MainPID)/status"
systemctl stop latchkey@deeds
if mountpoint /home/ann/deeds; then exit 1; fi

: "the unit of a user"
as ann bash -euc "$(declare -f named); umask 077; mkdir by-user; named by-user work"
loginctl enable-linger ann
for _ in {1..300}; do
    as ann systemctl --user is-system-running --wait && break
    sleep 0.1
done
as ann bash -euxc "systemctl --user start latchkey@work
    latchkey unlock --passcode-file by-user/passcode work
    echo mine >work/file
    systemctl --user show -p StatusText --value latchkey@work | grep unlocked
    systemctl --user stop latchkey@work
    if mountpoint work; then exit 1; fi"
loginctl disable-linger ann
