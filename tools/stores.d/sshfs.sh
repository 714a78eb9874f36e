# sshfs, with an OpenSSH server on the network
# shellcheck shell=bash disable=SC2154

packages() { echo sshfs openssh-server openssh-client; }

version() { sshfs --version 2>&1 | sed -n 's/^SSHFS version /sshfs /p'; }

server_processes() { pgrep -f "^/usr/sbin/sshd.*$store|^sshd:|sftp-server" || true; }

start() {
    mkdir -p "$store/keys" /run/sshd
    make_disk "$store/data"
    ssh-keygen -q -t ed25519 -N '' -f "$store/keys/host"
    ssh-keygen -q -t ed25519 -N '' -f "$store/keys/client"
    cp "$store/keys/client.pub" "$store/keys/authorized"
    cat >"$store/sshd_config" <<END
Port 22
ListenAddress $server
HostKey $store/keys/host
AuthorizedKeysFile $store/keys/authorized
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
Subsystem sftp /usr/lib/openssh/sftp-server
PidFile none
END
    heal
}

heal() {
    begin sshd /usr/sbin/sshd -D -f "$store/sshd_config"
    until_ready 20 is_listening "$server" 22
}

crash() {
    local process
    kill_begun sshd
    # A session is a process of its own.
    for process in $(server_processes); do kill -KILL "$process" 2>/dev/null || true; done
}

client() {
    sshfs "$server:$store/data" "$2" -o IdentityFile="$store/keys/client" -o StrictHostKeyChecking=no \
        -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o allow_other,default_permissions
}

stop() { crash; }
