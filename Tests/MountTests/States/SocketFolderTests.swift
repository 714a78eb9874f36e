import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// The folder for the daemons' sockets, with entries that other users have made, and those of killed daemons.
    @Suite struct SocketFolders {
        private func device(_ mount: MountedVault) throws -> UInt64 {
            var status = stat()
            try #require(unsafe stat(mount.path, &status) == 0)
            return UInt64(status.st_dev)
        }

        /// The numbers of mounts whose links lead to this volume's socket.
        private func links(to socket: String) throws -> [String] {
            let folder = (socket as NSString).deletingLastPathComponent
            return try FileManager.default.contentsOfDirectory(atPath: folder).filter {
                (try? Disk.target(ofLink: folder + "/" + $0)) == (socket as NSString).lastPathComponent
            }
        }

        @Test func aKilledDaemonsLinkGoesWithTheNextMount() throws {
            guard geteuid() == 0 else { return }
            let vault = try Vault()
            let first = try MountedVault(vault)
            let (socket, number) = (try first.socket(), try device(first))
            first.kill()
            first.detach()
            #expect(try links(to: socket) == ["device-\(number)"])
            // The number belongs to another file system by now; and later to a vault's.
            let taken = try vault.folder.makeFolder("taken")
            try run("mount", ["-t", "tmpfs", "none", taken]).succeeded()
            defer { unsafe umount2(taken, Int32(MNT_DETACH)) }
            #expect(try vault.latchkey(["status", taken]).status == 5)
            let again = try MountedVault(vault)
            #expect(try links(to: socket) == ["device-\(try device(again))"])
            #expect(try vault.latchkey(["status", taken]).status == 5)
            try again.unmount()
            #expect(try links(to: socket) == [])

            let other = try Vault()
            let killed = try MountedVault(vault)
            killed.kill()
            killed.detach()
            try withMount(other) { mount in
                let status = try mount.latchkey("status", "--json", mount.path).succeeded().text
                #expect(status.contains(other.path) && !status.contains(vault.path), "\(status)")
                #expect(try links(to: socket) == [], "of a daemon that is dead")
            }
        }

        /// With a /tmp of its own: another user has made a folder and links with the names that this user needs.
        @Test func whatAnotherUserHasMadeIsNotUsedAndNotInTheWay() throws {
            guard geteuid() == 0 else { return }
            let folder = try TemporaryFolder()
            try run("cp", [Built.latchkey, folder.path("latchkey")]).succeeded()
            unsafe chown(folder.path, 65_534, 65_534)
            let environment = Environment.plain.merging([
                "XDG_STATE_HOME": folder.path("state"), "HOME": folder.path, "FOLDER": folder.path,
            ]) { $1 }
            let outcome = try run(
                "unshare",
                [
                    "-m", "--propagation", "private", "bash", "-euc",
                    """
                    cd "$FOLDER"; mknod -m 0666 fuse c 10 229; mount --bind fuse /dev/fuse
                    mount --bind "$FOLDER" /mnt; mount -t tmpfs -o mode=1777 none /tmp
                    mkdir -p "$FOLDER"; mount --move /mnt "$FOLDER"
                    cd "$FOLDER"
                    mkdir -m 700 /tmp/latchkey-65534; chown 65533 /tmp/latchkey-65534
                    mkdir -m 777 /tmp/latchkey-65534.1; chown 65533 /tmp/latchkey-65534.1; mkdir -m 700 /tmp/own
                    chown 65534 /tmp/own; ln -s own /tmp/latchkey-65534.2; ln -s missing /tmp/latchkey-65534.3
                    exec setpriv --reuid 65534 --regid 65534 --clear-groups bash -euxc "$1"
                    """, "bash",
                    """
                    printf "a passcode of five words" > passcode; mkdir -m 700 state; mkdir mount
                    ./latchkey init vault --kdf-memory 19 --kdf-passes 2 --passcode-file passcode \\
                        --recovery-key-file recovery
                    for time in 1 2; do
                        ./latchkey mount --unlock --passcode-file passcode vault mount
                        ./latchkey status mount; ./latchkey lock --now --wait mount
                        ./latchkey status | grep -q "locked: A"
                        own=$(find /tmp/latchkey-65534.* -maxdepth 0 -type d -user 65534)
                        test "$(stat -c %a $own)" = 700; test "$(ls $own | wc -l)" = 2
                        ./latchkey unmount mount
                    done
                    test -z "$(ls -A /tmp/own)"; test ! -e /tmp/missing; test -z "$(ls -A /tmp/latchkey-65534.1)"
                    """,
                ], environment: environment, directory: folder.path)
            #expect(outcome.status == 0, "\(outcome)")
        }
    }
}
