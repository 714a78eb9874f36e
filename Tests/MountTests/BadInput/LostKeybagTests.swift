import Foundation
import TestSupport
import Testing

extension MountTests {
    /// A vault without its keybag is still called one, and no other is made over its files.
    @Suite struct LostKeybags {
        /// Every command that takes a vault, and its arguments.
        private func commands(_ vault: Vault, _ point: String) -> [[String]] {
            [
                ["mount", vault.path, point], ["mount", "--recovery", vault.path, point], ["init", vault.path],
                ["status", vault.path], ["lock", vault.path], ["unlock", vault.path], ["unmount", vault.path],
                ["slot", "list", vault.path], ["passwd", vault.path], ["device-key", "show", vault.path],
                ["erase", "--yes", vault.path],
            ]
        }

        /// All of them fail alike, and change nothing.
        private func expectAll(_ vault: Vault, say words: String) throws {
            let point = try vault.folder.makeFolder("point")
            let before = Disk.tree(vault.path)
            for arguments in commands(vault, point) {
                let outcome = try vault.latchkey(arguments)
                #expect(outcome.status == 5, "\(arguments): \(outcome)")
                #expect(outcome.errors.contains(words), "\(arguments): \(outcome)")
                #expect(outcome.errors.contains("try: latchkey keybag restore FILE \(vault.path)"), "\(outcome)")
                #expect(!outcome.errors.contains("latchkey init"), "\(outcome)")
            }
            #expect(Disk.tree(vault.path) == before)
        }

        @Test(arguments: [true, false]) func lost(_ wasMounted: Bool) throws {
            let vault = try Vault()
            if wasMounted { try withMount(vault) { _ in } }
            let keybag = try Disk.read(vault.keybag)
            try FileManager.default.removeItem(atPath: vault.keybag)
            try expectAll(vault, say: "the vault \(vault.path) has no keybag any more: lk.keybag was lost, or")
            try Disk.write(keybag, to: vault.keybag)
            try withMount(vault) { _ in }
        }

        @Test func erased() throws {
            let vault = try Vault()
            try withMount(vault) { mount in try shell("mkdir a && touch a/file", in: mount.path).succeeded() }
            let keybag = try Disk.read(vault.keybag)
            try vault.latchkey(["erase", "--yes", vault.path]).succeeded()
            let year = try shell("date +%Y-", in: "/").text.dropLast()
            try expectAll(vault, say: "the vault \(vault.path) was erased on \(year)")
            let checked = try vault.latchkey(["fsck", vault.path])
            #expect(checked.status == 6 && "\(checked)".contains("was erased on \(year)"), "\(checked)")
            // A copy of the keybag and of the device key would open it again, and then it is not erased any more.
            try Disk.write(keybag, to: vault.keybag)
            let outcome = try vault.latchkey(["slot", "list", vault.path])
            #expect(!outcome.errors.contains("was erased on"), "\(outcome)")
        }

        /// The advice has the folder: a copy to the name would land in the working folder.
        @Test func ofANamedVault() throws {
            let scene = try NamedScene()
            try scene.makeVault("work")
            let folder = scene.home.path(".local/share/latchkey/vaults/work")
            try FileManager.default.removeItem(atPath: folder + "/lk.keybag")
            let checked = try scene.latchkey("fsck", "work")
            #expect(checked.status == 6 && checked.errors.contains("cp BACKUP/lk.keybag \(folder) "), "\(checked)")
        }

        /// What the message advises: a backup of the keybag opens the vault again, which is not erased then.
        @Test func restoredFromABackup() throws {
            let vault = try Vault()
            try withMount(vault) { mount in try shell("echo kept > file", in: mount.path).succeeded() }
            let backup = vault.folder.path("keybag.backup")
            let options = ["--passphrase-file", vault.passcodeFile, "--kdf-memory", "19", "--kdf-passes", "2"]
            try vault.latchkey(
                ["keybag", "backup", "--passcode-file", vault.passcodeFile] + options + [backup, vault.path]
            ).succeeded()
            try vault.latchkey(["erase", "--yes", vault.path]).succeeded()
            #expect(Disk.tree(vault.path).contains("lk.erased"))
            try vault.latchkey(
                ["keybag", "restore", "--new-passcode-file", vault.passcodeFile] + options + [backup, vault.path]
            ).succeeded()
            let text = try withMount(vault) { mount in try shell("cat file", in: mount.path).text }
            #expect(text == "kept\n")
            #expect(!Disk.tree(vault.path).contains("lk.erased"))
        }

        /// By its daemon.
        @Test func erasedWhileMounted() throws {
            let vault = try Vault()
            let mount = try MountedVault(vault)
            try vault.latchkey(["erase", "--yes", mount.path]).succeeded()
            let outcome = try vault.latchkey(["status", vault.path])
            #expect(outcome.status == 5 && outcome.errors.contains("was erased on 2"), "\(outcome)")
        }

        /// What an attacker writes there is not shown, and does not hang a command.
        @Test(arguments: [
            "printf x > lk.erased", "printf 'LKERASED 0123\\n' > lk.erased", "printf 'LKERASED 1' > lk.erased",
            "printf 'LKERASED 1795000000\\n\\n' > lk.erased", "head -c 100000 /dev/zero > lk.erased",
            "mkfifo lk.erased", "ln -s /etc/passwd lk.erased", "mkdir lk.erased",
            "printf 'LKERASED 9999999999999\\n' > lk.erased",
        ])
        func plantedStatements(_ plant: String) throws {
            let vault = try Vault()
            try shell(plant, in: vault.path).succeeded()
            let listed = try vault.latchkey(["device-key", "show", vault.path])
            #expect(listed.status == 0, "with a keybag it does not count: \(listed)")
            try FileManager.default.removeItem(atPath: vault.keybag)
            let outcome = try vault.latchkey(["status", vault.path])
            #expect(outcome.status == 5 && outcome.errors.contains("has no keybag any more"), "\(outcome)")
        }

        /// A folder below the root of a vault is not one that has lost its keybag.
        @Test func aFolderInAVault() throws {
            let vault = try Vault()
            try withMount(vault) { mount in try shell("mkdir folder", in: mount.path).succeeded() }
            let folder = try #require(
                try FileManager.default.contentsOfDirectory(atPath: vault.path).first { !$0.hasPrefix("lk.") })
            let point = try vault.folder.makeFolder("point")
            let outcome = try vault.latchkey(["mount", vault.path + "/" + folder, point])
            #expect(outcome.status == 5 && !outcome.errors.contains("has no keybag any more"), "\(outcome)")
        }
    }
}
