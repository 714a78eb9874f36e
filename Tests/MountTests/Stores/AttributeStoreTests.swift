import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Vaults on file systems without extended attributes, or with small ones: programs see no difference.
    @Suite(.enabled(if: FuseDevice.missing == nil, "needs FUSE")) struct AttributeStores {
        /// Stores that can be made here; the last two only by some users.
        enum Kind: String, CaseIterable, CustomTestStringConvertible {
            case without = "no-attributes"
            case small = "small-attributes"
            case ssh
            case ext4

            var testDescription: String { rawValue }
        }

        private func withStore(_ kind: Kind, _ body: (Vault) throws -> Void) throws {
            switch kind {
            case .without, .small:
                let store = try OtherStore.passthrough(kind.rawValue)
                try body(Vault(at: store.path + "/vault"))
            case .ssh:
                guard OtherStore.hasSSH else {
                    Issue.record("NOT TESTED: sshfs or sftp-server is missing")
                    return
                }
                let store = try OtherStore.ssh()
                try body(Vault(at: store.path + "/vault"))
            case .ext4:
                guard LoopDisk.isAvailable else {
                    Issue.record("NOT TESTED: a disk takes root and loop devices")
                    return
                }
                let disk = try LoopDisk(size: "64M")
                try use(TemporaryFolder(in: disk.path), body)
            }
        }

        /// A function of its own: the vault must be removed before its disk.
        private func use(_ folder: TemporaryFolder, _ body: (Vault) throws -> Void) throws {
            try body(Vault(in: folder))
        }

        private static let shellLines = """
            refused() { if "$@" 2>/dev/null; then echo "not refused: $*"; exit 1; fi; }
            large() { printf "$1%.0s" $(seq 1 6000); }
            value() { getfattr --only-values -n "$1" "$2"; }
            has() { test "$(value "$1" "$2")" = "$3"; }

            """

        /// What must be seen of what `make` has made, in each state.
        private static let look =
            shellLines + """
                for path in moved second folder; do
                    has user.one $path new; has user.empty $path ""; has user.large $path "$(large v)"
                    test "$(getfattr $path | grep -c ^user)" = 3
                    refused getfattr -n user.none $path
                    refused setfattr -x user.none $path
                done
                refused getfattr -n user.one plain
                test "$(getfattr plain)" = ""

                """

        private static let make =
            shellLines + """
                touch file plain; mkdir folder
                for path in file folder; do
                    setfattr -n user.one -v 1 $path; has user.one $path 1; setfattr -n user.empty $path
                    setfattr -n user.gone -v 1 $path; setfattr -n user.large -v "$(large x)" $path
                    setfattr -n user.large -v "$(large v)" $path; setfattr -n user.one -v new $path
                    setfattr -x user.gone $path; refused getfattr -n user.gone $path
                    refused python3 -c \
                        'import os, sys; os.setxattr(sys.argv[1], "user.one", b"", os.XATTR_CREATE)' $path
                    refused python3 -c \
                        'import os, sys; os.setxattr(sys.argv[1], "user.two", b"", os.XATTR_REPLACE)' $path
                done
                mv file moved

                """

        private func sidecars(of vault: Vault) -> Int {
            (try? FileManager.default.contentsOfDirectory(atPath: vault.path + "/lk.attributes").count) ?? 0
        }

        @Test(arguments: Kind.allCases) func areAsOnAnyStore(_ kind: Kind) throws {
            try withStore(kind) { vault in
                let mount = try MountedVault(vault)
                // The store of an sshfs makes two files of one.
                let link = kind == .ssh ? "cp -p --preserve=xattr moved second" : "ln moved second"
                try shell(Self.make + link + "\n" + Self.look, in: mount.path).succeeded()
                try mount.lockNow()
                try shell(Self.look, in: mount.path).succeeded()
                #expect(sidecars(of: vault) == (kind == .ssh ? 3 : 2))
                mount.kill()
                mount.detach()
                try withMount(vault) { mount in
                    try shell(Self.look, in: mount.path).succeeded()
                    try mount.lockDeeply()
                    try shell(Self.look, in: mount.path).succeeded()
                    try mount.unlock()
                    try shell(
                        Self.shellLines + """
                            mkdir from to; echo text > from/a; setfattr -n user.large -v "$(large a)" from/a
                            setfattr -n user.small -v s from/a; setfattr -n user.of -v folder from
                            cp -a --preserve=xattr from copied
                            rsync -aX from/ to
                            for folder in from copied to; do
                                has user.large $folder/a "$(large a)"; has user.small $folder/a s
                                has user.of $folder folder
                            done
                            test "$(rsync -aXin from/ to)" = ""
                            exec 9< to/a; rm to/a
                            test "$(getfattr --only-values -n user.small /dev/fd/9)" = s; exec 9<&-
                            rm from/a copied/a

                            """ + (kind == .ssh ? "" : "rmdir copied to from"), in: mount.path
                    ).succeeded()
                }
                try withMount(vault, options: ["-o", "ro"]) { mount in
                    try shell(Self.look + "refused setfattr -n user.two -v 2 folder", in: mount.path).succeeded()
                }
                let sound = try vault.fsck()
                #expect(sound.clean && sound.findings.isEmpty, "\(sound.findings)")
                // sshfs keeps a removed file under another name in its folder until it is closed.
                try withMount(vault) { mount in
                    try shell("find . -type f -delete; sync -f .", in: mount.path).succeeded()
                    try mount.untilNothingIsOpen()
                }
                try withMount(vault) { try shell("find . -mindepth 1 -delete", in: $0.path).succeeded() }
                // A rename that the kill has interrupted may look like a copy: its sidecar stays for fsck.
                let left = try vault.fsck("--repair")
                #expect(left.findings.allSatisfy { $0.kind == "sidecar" }, "\(left.findings)")
                #expect(left.findings.count <= (kind == .ssh ? 1 : 0), "\(left.findings)")
                #expect(sidecars(of: vault) == 0)
            }
        }

        /// The kernel asks for the list, and the daemon gives what it inherits.
        @Test(.enabled(if: geteuid() == 0, "needs root")) func listsAreEnforced() throws {
            try withStore(.without) { vault in
                try withMount(vault, options: ["-o", "allow_other"]) { mount in
                    _ = try shell(
                        Self.shellLines + """
                            as() { user=$1; shift; setpriv --reuid=$user --regid=$user --clear-groups -- "$@"; }
                            chmod 755 .; mkdir -m 755 shared; setfacl -d -m u:1235:r,o::- shared
                            echo text > shared/file
                            test "$(as 1235 cat shared/file)" = text
                            refused as 1236 cat shared/file
                            chmod 600 shared/file; refused as 1235 cat shared/file
                            """, in: mount.path
                    ).succeeded()
                }
            }
        }

        /// A daemon that is killed between the removal of a file and that of its attributes leaves them to fsck; one
        /// that changes them leaves the old or the new ones.
        @Test func aKilledDaemonLosesNone() throws {
            try withStore(.without) { vault in
                let mount = try MountedVault(vault)
                try shell(
                    "touch kept gone; for n in kept gone; do setfattr -n user.one -v $n $n; done; sync -f .; rm gone",
                    in: mount.path
                ).succeeded()
                // It ends with the daemon.
                try shell(
                    """
                    (n=0; while [ $n -lt 100000 ] && setfattr -n user.n -v $n kept; do n=$((n + 1)); done) \
                        > /dev/null 2>&1 < /dev/null &
                    """, in: mount.path
                ).succeeded()
                try shell("timeout 20 sh -c 'until getfattr -n user.n kept; do :; done' 2> /dev/null", in: mount.path)
                    .succeeded()
                mount.kill()
                mount.detach()
                try withMount(vault) { mount in
                    let text = try shell(
                        "getfattr --only-values -n user.one kept; echo; getfattr --only-values -n user.n kept",
                        in: mount.path
                    ).succeeded().text
                    #expect(text.hasPrefix("kept\n") && Int(text.dropFirst(5)) != nil, "\(text)")
                }
                let found = try vault.fsck("--repair")
                #expect(found.findings.allSatisfy { ["sidecar", "temporary"].contains($0.kind) }, "\(found.findings)")
                #expect(sidecars(of: vault) == 1)
                #expect(try vault.fsck().findings.isEmpty)
                // A byte of it changes: nothing is shown, and the repair keeps the bytes.
                let name = try #require(
                    FileManager.default.contentsOfDirectory(atPath: vault.path + "/lk.attributes").first)
                try Disk.write([0xFF, 0xFE], to: vault.path + "/lk.attributes/" + name)
                try withMount(vault) { mount in
                    let refused = try attemptShell("getfattr -n user.one kept", in: mount.path)
                    #expect(refused.errors.contains("Input/output error"), "\(refused)")
                    try shell("cat kept", in: mount.path).succeeded()
                }
                let damaged = try vault.fsck(expecting: 6)
                #expect(damaged.findings.map(\.kind) == ["attribute"], "\(damaged.findings)")
                _ = try vault.fsck("--repair", expecting: 6)
                #expect(try vault.fsck().findings.isEmpty && sidecars(of: vault) == 0)
            }
        }
    }
}
