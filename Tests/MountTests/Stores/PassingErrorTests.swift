import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// A vault on a store that fails for a moment, as those of a network do.
    @Suite(.enabled(if: FuseDevice.missing == nil, "needs FUSE")) struct PassingErrors {
        /// Makes a request fail while `body` runs, and expects that it did.
        private func failing(
            _ fault: String, on store: OtherStore, sourceLocation: SourceLocation = #_sourceLocation,
            _ body: () throws -> Void
        ) throws {
            let call = fault.split(separator: " ")[0]
            #expect(try store.ask("fail \(fault)") == "done", sourceLocation: sourceLocation)
            try body()
            let left = try store.ask("left \(call)")
            // The kernel knows names for a second, and need not look them up.
            #expect(left == "left 0" || call == "lookup", "\(fault)", sourceLocation: sourceLocation)
            try store.ask("fail \(call) EIO 0")
        }

        private func withStore(_ body: (OtherStore, Vault, MountedVault) throws -> Void) throws {
            let store = try OtherStore.passthrough("")
            let vault = try Vault(at: store.path + "/vault")
            try withMount(vault) { mount in try body(store, vault, mount) }
            try vault.latchkey(["fsck", "--passcode-file", vault.passcodeFile, vault.path]).succeeded()
        }

        /// Calls that change names, and what the store is asked for them.
        private static let changes = [
            ("mkdir", "mkdir folder && [ -d folder ]"), ("create", "echo text > new && [ $(cat new) = text ]"),
            ("rename", "mv one two && [ $(cat two) = one ] && [ ! -e one ]"),
            ("unlink", "rm three && [ ! -e three ]"), ("symlink", "ln -s target link && [ $(readlink link) = target ]"),
            ("rmdir", "rmdir empty && [ ! -e empty ]"), ("write", "echo more > two && [ $(cat two) = more ]"),
            ("fsync", "echo most > four && sync four && [ $(cat four) = most ]"),
        ]

        /// A signal that reaches the store's program, or the server's, before it has done what it was asked, or after.
        @Test(arguments: ["EINTR 3", "EINTR 1 done"]) func anInterruptedCallIsMadeOnce(_ fault: String) throws {
            try withStore { store, _, mount in
                try shell("for name in one three four; do echo $name > $name; done; mkdir empty", in: mount.path)
                for (call, command) in Self.changes {
                    try failing("\(call) \(fault)", on: store) {
                        let outcome = try attemptShell(command, in: mount.path)
                        #expect(outcome.status == 0, "\(call): \(outcome)")
                    }
                }
            }
        }

        /// A server that is away, or a file that it has to look up anew.
        @Test func whatChangesNothingIsRepeated() throws {
            let store = try OtherStore.passthrough("")
            let vault = try Vault(at: store.path + "/vault")
            try withMount(vault) { mount in
                let commands = "head -c 100000 /dev/urandom > file; sha256sum file > sum; mkdir d; touch d/a d/b"
                try shell(commands, in: mount.path)
            }
            for fault in [
                "read EIO 3", "open EIO 3", "readdir EIO 3", "readlink EIO 3", "lookup EIO 3", "lookup ESTALE 1",
                "open ESTALE 1",
            ] {
                try withMount(vault) { mount in
                    try store.ask("invalidate")
                    try failing(fault, on: store) {
                        let outcome = try attemptShell("sha256sum -c sum && [ $(ls d | wc -l) = 2 ]", in: mount.path)
                        #expect(outcome.status == 0, "\(fault): \(outcome)")
                    }
                }
            }
        }

        @Test func anErrorThatStaysIsToldAndGoesWithTheServersReturn() throws {
            try withStore { store, _, mount in
                try shell("head -c 100000 /dev/urandom > file; sha256sum file > sum; sync", in: mount.path)
                try mount.lockNow()
                try mount.unlock()
                try store.ask("invalidate")
                try store.ask("fail read EIO 100000")
                let refused = try attemptShell("cat file", in: mount.path)
                #expect(refused.status != 0 && refused.errors.contains("Input/output error"), "\(refused.errors)")
                try store.ask("fail read EIO 0")
                try shell("sha256sum -c sum", in: mount.path)
            }
        }

        /// A flush is not repeated: the second one would succeed, and what the first one could not write would be lost.
        @Test func theErrorOfAFlushIsTold() throws {
            let store = try OtherStore.passthrough("")
            let vault = try Vault(at: store.path + "/vault")
            try withMount(vault) { mount in
                try failing("fsync EIO 1", on: store) {
                    let outcome = try attemptShell("echo text > file && sync file", in: mount.path)
                    #expect(outcome.status != 0 && outcome.errors.contains("Input/output error"), "\(outcome)")
                }
            }
        }

        /// The kernel asks for the access list of a file of another user.
        @Test(.enabled(if: OtherStore.hasSSH && geteuid() == 0, "needs sshfs and root"))
        func aStoreWithoutAttributesTakesAnyOwner() throws {
            let store = try OtherStore.ssh()
            let vault = try Vault(at: store.path + "/vault")
            try withMount(vault, options: ["-o", "allow_other"]) { mount in
                let outcome = try attemptShell(
                    "mkdir p && cd p && chown 65535:65535 . && ls -ld . && mkdir x && echo text > y && chmod 700 .",
                    in: mount.path)
                #expect(outcome.status == 0, "\(outcome)")
            }
        }

        /// libfuse gives a file that is removed while it is open another name, in the same folder.
        @Test(.enabled(if: OtherStore.hasSSH, "sshfs or sftp-server is missing"))
        func aFolderGoesBeforeItsRemovedFilesAreClosed() throws {
            let store = try OtherStore.ssh()
            let vault = try Vault(at: store.path + "/vault")
            try withMount(vault) { mount in
                try shell(
                    """
                    set -e
                    mkdir held; echo text > held/file; exec 7<held/file; rm held/file; rmdir held
                    [ ! -e held ]; [ "$(cat <&7)" = text ]; exec 7<&-
                    mkdir closed
                    for n in 1 2 3 4 5 6 7 8; do echo $n >> closed/file; sync closed/file; done
                    rm -r closed; [ ! -e closed ]
                    mkdir replaced new; echo text > replaced/file; exec 7<replaced/file; rm replaced/file
                    mv -T new replaced; [ "$(cat <&7)" = text ]; exec 7<&-
                    """, in: mount.path
                ).succeeded()
            }
            #expect(Disk.tree(store.source).filter { $0.contains("fuse_hidden") || $0.contains("lk.tmp.") } == [])
            try vault.latchkey(["fsck", "--passcode-file", vault.passcodeFile, vault.path]).succeeded()
        }
    }
}
