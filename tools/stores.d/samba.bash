# shellcheck shell=bash disable=SC2154
# A server of Samba, for the files of the stores that use one.

samba_version() { smbd --version | sed 's/^Version /Samba /'; }

start() {
    make_disk "$store/data"
    mkdir -p "$store/state" /run/samba /var/log/samba
    cat >"$store/smb.conf" <<END
[global]
workgroup = STORES
netbios name = server
interfaces = $server
bind interfaces only = yes
disable netbios = yes
smb ports = 445
map to guest = never
private dir = $store/state
state directory = $store/state
lock directory = $store/state
cache directory = $store/state
pid directory = $store/state
ncalrpc dir = $store/state/ncalrpc
server min protocol = SMB2
load printers = no
strict sync = yes
[vaults]
path = $store/data
read only = no
case sensitive = yes
preserve case = yes
store dos attributes = yes
create mask = 0777
directory mask = 0777
END
    printf 'secret\nsecret\n' | smbpasswd -c "$store/smb.conf" -s -a root
    heal
}

heal() {
    begin smbd smbd --foreground --no-process-group -s "$store/smb.conf" --debug-stdout
    until_ready 30 is_listening "$server" 445
}

server_processes() { pgrep -x smbd || true; }

crash() { pkill -KILL -x smbd || true; }

stop() { crash; }
