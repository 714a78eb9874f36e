import Foundation
import TestSupport
import Testing

extension MountTests {
    /// An older keybag with its older passcode, put back into the vault.
    @Suite struct OlderKeybag {
        private static let refusal = "is older than the newest one"

        /// A vault with the keybag from before its passcode was changed to `another`.
        private func vault() throws -> (vault: Vault, another: String) {
            let vault = try Vault()
            let another = vault.folder.path("another")
            try Disk.write(Array("a quite different passcode\n".utf8), to: another)
            let older = try Disk.read(vault.keybag)
            try vault.latchkey([
                "passwd", "--passcode-file", vault.passcodeFile, "--new-passcode-file", another, vault.path,
            ]).succeeded()
            try Disk.write(older, to: vault.keybag)
            return (vault, another)
        }

        @Test func noCommandOpensIt() throws {
            let (vault, another) = try vault()
            let before = Disk.tree(vault.path)
            let point = try vault.folder.makeFolder("point")
            for arguments in [
                ["mount", vault.path, point],
                ["mount", "--unlock", "--passcode-file", vault.passcodeFile, vault.path, point],
                ["slot", "list", vault.path],
                ["passwd", "--passcode-file", vault.passcodeFile, "--new-passcode-file", another, vault.path],
            ] {
                let outcome = try vault.latchkey(arguments)
                #expect(outcome.status == 6, "\(arguments): \(outcome)")
                #expect(outcome.errors.contains(Self.refusal), "\(outcome)")
                #expect(outcome.errors.contains("try: latchkey accept --keybag \(vault.path)"), "\(outcome)")
            }
            #expect(Disk.tree(vault.path) == before)
        }

        @Test func whatOpensTheNewestAcceptsIt() throws {
            let (vault, another) = try vault()
            let older = try Disk.read(vault.keybag)
            let before = try vault.latchkey(["accept", "--keybag", "--passcode-file", vault.passcodeFile, vault.path])
            #expect(before.status == 3, "\(before)")
            #expect(try vault.latchkey(["accept", "--passcode-file", another, vault.path]).status == 2)
            #expect(try Disk.read(vault.keybag) == older)
            try vault.latchkey(["accept", "--keybag", "--passcode-file", another, vault.path]).succeeded()
            let point = try vault.folder.makeFolder("point")
            let changed = try vault.latchkey([
                "mount", "--unlock", "--passcode-file", vault.passcodeFile, vault.path, point,
            ])
            #expect(changed.status == 3, "\(changed)")
            try vault.latchkey(["mount", "--unlock", "--passcode-file", another, vault.path, point]).succeeded()
            try vault.latchkey(["unmount", point]).succeeded()
            let again = try vault.latchkey(["accept", "--keybag", "--passcode-file", another, vault.path])
            #expect(again.status == 1 && again.errors.contains("nothing to accept"), "\(again)")
            try Disk.write(older, to: vault.keybag)
            try vault.latchkey([
                "accept", "--keybag", "--recovery", "--recovery-key-file", vault.recoveryKeyFile, vault.path,
            ]).succeeded()
        }

        @Test func whatOnlyReadsSaysSo() throws {
            let (vault, another) = try vault()
            let before = Disk.tree(vault.path)
            let info = try vault.latchkey(["info", vault.path]).succeeded()
            #expect(info.text.contains("is older than the newest one that this machine has seen"), "\(info)")
            let checked = try vault.latchkey(["fsck", "--unlock", "--passcode-file", another, vault.path]).succeeded()
            #expect(checked.errors.contains(Self.refusal), "\(checked)")
            let backup = vault.folder.path("backup")
            let refused = try vault.latchkey([
                "keybag", "backup", "--passcode-file", another, "--passphrase-file", another, backup, vault.path,
            ])
            #expect(refused.status == 6 && refused.errors.contains(Self.refusal), "\(refused)")
            let repaired = try vault.latchkey(["fsck", "--repair", vault.path])
            #expect(repaired.status == 6 && repaired.errors.contains("try: latchkey accept"), "\(repaired)")
            #expect(Disk.tree(vault.path) == before)
        }

        /// A vault that had no passcode when the backup was made.
        @Test func aBackupWithoutAPasscodeIsRead() throws {
            let vault = try Vault(hasPasscode: false)
            let backup = vault.folder.path("backup")
            try shell("cp -a '\(vault.path)' '\(backup)'").succeeded()
            let another = vault.folder.path("another")
            try Disk.write(Array("a quite different passcode\n".utf8), to: another)
            try vault.latchkey(["passwd", "--new-passcode-file", another, vault.path]).succeeded()
            let point = try vault.folder.makeFolder("point")
            try vault.latchkey(["mount", "-o", "ro", backup, point]).succeeded()
            try vault.latchkey(["unlock", "--passcode-file", another, point]).succeeded()
            try vault.latchkey(["unmount", point]).succeeded()
            try vault.latchkey(["fsck", backup]).succeeded()
        }

        /// A backup beside the vault: names are there, and contents for what is still in force.
        @Test func aBackupIsRead() throws {
            let vault = try Vault()
            try withMount(vault) { mount in
                try Disk.write(Array("contents".utf8), to: mount.file("file"))
            }
            let backup = vault.folder.path("backup")
            try shell("cp -a '\(vault.path)' '\(backup)'").succeeded()
            let another = vault.folder.path("another")
            try Disk.write(Array("a quite different passcode\n".utf8), to: another)
            try vault.latchkey([
                "passwd", "--passcode-file", vault.passcodeFile, "--new-passcode-file", another, vault.path,
            ]).succeeded()
            let point = try vault.folder.makeFolder("point")
            let mounted = try vault.latchkey(["mount", "-o", "ro", backup, point]).succeeded()
            #expect(mounted.errors.contains(Self.refusal), "\(mounted)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: point) == ["file"])
            let changed = try vault.latchkey(["unlock", "--passcode-file", vault.passcodeFile, point])
            #expect(changed.status == 3, "\(changed)")
            try vault.latchkey(["unlock", "--passcode-file", another, point]).succeeded()
            #expect(try Disk.read(point + "/file") == Array("contents".utf8))
            try vault.latchkey(["unmount", point]).succeeded()
            let recovered = try vault.latchkey([
                "mount", "-o", "ro", "--recovery", "--recovery-key-file", vault.recoveryKeyFile, backup, point,
            ])
            #expect(recovered.status == 2 && recovered.errors.contains("latchkey unlock --recovery"), "\(recovered)")
            // The vault itself is not affected.
            try vault.latchkey([
                "mount", "--unlock", "--passcode-file", another, vault.path, point,
            ]).succeeded()
            try vault.latchkey(["unmount", point]).succeeded()
        }

        /// A change that is made while the vault is mounted is seen, too; and a lost state folder costs the memory
        /// alone.
        @Test func theDaemonRemembers() throws {
            let vault = try Vault()
            let older = try Disk.read(vault.keybag)
            try withMount(vault) { mount in
                try mount.latchkey(
                    "slot", "add", "recovery-key", "--passcode-file", vault.passcodeFile, "--new-file",
                    vault.folder.path("second"), mount.path
                ).succeeded()
            }
            try Disk.write(older, to: vault.keybag)
            let point = try vault.folder.makeFolder("point")
            let refused = try vault.latchkey(["mount", vault.path, point])
            #expect(refused.status == 6 && refused.errors.contains(Self.refusal), "\(refused)")
            let state = try #require(vault.environment["XDG_STATE_HOME"])
            let seen = try FileManager.default.subpathsOfDirectory(atPath: state).filter { $0.hasSuffix(".seen") }
            #expect(seen.count == 1)
            try FileManager.default.removeItem(atPath: "\(state)/\(seen[0])")
            try vault.latchkey(["mount", vault.path, point]).succeeded()
            try vault.latchkey(["unmount", point]).succeeded()
        }
    }
}
