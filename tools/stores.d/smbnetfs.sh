# Samba, through smbnetfs
# shellcheck shell=bash disable=SC2154
. "$(dirname "${BASH_SOURCE[0]}")/samba.bash"

packages() { echo samba smbnetfs; }

version() {
    samba_version
    smbnetfs --version 2>/dev/null | sed -n 's/^SMBNetFS version /through smbnetfs /p'
}

client() {
    local folder=$scratch/m$1/smb
    mkdir -p "$folder/all" "$HOME/.smb"
    printf '[global]\nclient min protocol = SMB2\nname resolve order = host bcast\n' >"$HOME/.smb/smb.conf"
    printf 'auth "%s" "root" "secret"\n' "$server" >"$HOME/.smb/smbnetfs.auth"
    printf 'host %s visible=true\n' "$server" >"$HOME/.smb/smbnetfs.host"
    chmod 600 "$HOME/.smb"/*
    cat >"$HOME/.smb/smbnetfs.conf" <<'END'
show_$_shares "true"
free_space_size 1073741824
log_level 0
include "smbnetfs.auth"
include "smbnetfs.host"
END
    chmod 600 "$HOME/.smb/smbnetfs.conf"
    smbnetfs "$folder/all" -o allow_other
    until_ready 20 ls "$folder/all/$server/vaults"
    mount --bind "$folder/all/$server/vaults" "$2"
}
