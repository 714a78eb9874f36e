#!/usr/bin/env bash
# nfs.sh FOLDER SCRATCH COMMAND...: exports FOLDER by the NFS server Ganesha, in a network namespace of its own, and runs
# shell commands while it serves. In them, at NAME is an address for libnfs's programs.
set -euo pipefail
if [ -z "${SERVING-}" ]; then
    SERVING=yes exec unshare --net --mount --pid --fork --kill-child --mount-proc "$0" "$@"
fi
folder=$1 scratch=$2
shift 2
at() { printf 'nfs://127.0.0.1/export/%s?version=4&nfsport=20490\n' "$1"; }
# The server keeps state here; and a rpcbind of the machine must not be met.
mkdir -p /var/lib/nfs
for place in /run /var/lib/nfs; do mount -t tmpfs tmpfs "$place"; done
mkdir -p /run/ganesha /run/rpcbind /var/lib/nfs/ganesha
ip link set lo up
cat >"$scratch/ganesha.conf" <<CONF
NFS_CORE_PARAM { Protocols = 3, 4; NFS_Port = 20490; MNT_Port = 20491; Enable_NLM = false; Enable_RQUOTA = false; }
NFSv4 { Graceless = true; RecoveryBackend = fs; }
EXPORT {
    Export_Id = 77; Path = $folder; Pseudo = /export; Access_Type = RW; Squash = None; SecType = sys;
    Filesystem_id = 7.7; FSAL { Name = VFS; }
}
CONF
rpcbind -f &
ganesha.nfsd -F -f "$scratch/ganesha.conf" -L "$scratch/ganesha.log" -p "$scratch/ganesha.pid" &
for _ in $(seq 300); do
    if nfs-ls "$(at '')" >/dev/null 2>&1; then break; fi
    sleep 0.1
done
for command; do eval "$command"; done
