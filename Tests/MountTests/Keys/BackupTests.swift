import Foundation
import TestSupport
import Testing

extension MountTests {
    /// `latchkey keybag`: the keys in a file of their own, and a keybag restored from it.
    @Suite struct KeybagBackups {
        private let vault: Vault
        private let passphrase: String
        private let new: String
        private let backup: String
        private let cost = ["--kdf-memory", "19", "--kdf-passes", "2"]

        init() throws {
            vault = try Vault(["--default-class", "complete"])
            passphrase = try vault.folder.write("four words and more", to: "passphrase")
            new = try vault.folder.write("the new passcode", to: "new")
            backup = vault.folder.path("keybag.backup")
            try withMount(vault) { try shell("mkdir d; seq 5000 > d/a; echo secret > b", in: $0.path).succeeded() }
        }

        private func makeBackup(_ place: String) throws {
            try vault.latchkey(
                ["keybag", "backup", "--passcode-file", vault.passcodeFile, "--passphrase-file", passphrase] + cost
                    + [backup, place]
            ).succeeded()
        }

        private func restore(_ path: String, _ phrase: String? = nil) throws -> Outcome {
            try vault.latchkey(
                ["keybag", "restore", "--passphrase-file", phrase ?? passphrase, "--new-passcode-file", new]
                    + ["--device-key", vault.folder.path("elsewhere.key")] + cost + [backup, path])
        }

        /// A copy of the vault without its keybag, on a new machine: every byte is readable again.
        @Test(arguments: [false, true]) func opensACopyElsewhere(isMounted: Bool) throws {
            let mount = isMounted ? try MountedVault(vault) : nil
            try makeBackup(mount?.path ?? vault.path)
            try mount?.unmount()
            let mode = try FileManager.default.attributesOfItem(atPath: backup)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let copy = vault.folder.path("copy")
            try run("rsync", ["-aX", vault.path + "/", copy + "/"]).succeeded()
            try FileManager.default.removeItem(atPath: copy + "/lk.keybag")
            try FileManager.default.removeItem(atPath: try vault.deviceKeyFile())
            #expect(try restore(copy).succeeded().text.contains("opens with the new passcode"))
            let opening = ["--device-key", vault.folder.path("elsewhere.key"), "--passcode-file", new]
            try vault.latchkey(["fsck", "--unlock"] + opening + [copy]).succeeded()
            let point = try vault.folder.makeFolder("point")
            try vault.latchkey(["mount", "--unlock"] + opening + [copy, point]).succeeded()
            defer { _ = try? vault.latchkey(["unmount", "--lazy", point]) }
            #expect(try shell("cat b; seq 5000 | cmp - d/a && echo same", in: point).text == "secret\nsame\n")
        }

        /// A folder that is no vault stays unchanged; a mount is not taken for a vault; a weak passphrase is refused.
        @Test func whereItDoesNotBelong() throws {
            try makeBackup(vault.path)
            let folder = try vault.folder.makeFolder("folder")
            #expect(try restore(folder).errors.contains("not the folder of a vault"))
            #expect(Disk.tree(folder).isEmpty)
            try withMount(vault) { mount in
                let outcome = try restore(mount.path)
                #expect(outcome.errors.contains("is in a mount"), "\(outcome)")
            }
            let whole = try Data(contentsOf: URL(filePath: backup))
            try whole.prefix(whole.count - 9).write(to: URL(filePath: backup))
            let answer = try restore(vault.path)
            #expect(answer.errors.contains("the backup is damaged"), "\(answer)")
            let weak = try vault.folder.write("monkey12", to: "weak")
            let outcome = try vault.latchkey([
                "keybag", "backup", "--passcode-file", vault.passcodeFile, "--passphrase-file", weak,
                vault.folder.path("other.backup"), vault.path,
            ])
            #expect(outcome.status == 1 && outcome.errors.contains("too soon"), "\(outcome)")
        }

        /// With a wrong passphrase, another vault or a mounted one: nothing is changed, and no device key is made.
        @Test func refusals() throws {
            try makeBackup(vault.path)
            let again = try vault.latchkey([
                "keybag", "backup", "--passcode-file", vault.passcodeFile, backup, vault.path,
            ])
            #expect(again.status == 1 && again.errors.contains("exists already"))
            let before = Disk.tree(vault.path)
            #expect(try restore(vault.path, new).status == 3)
            let other = try Vault()
            #expect(try restore(other.path).status == 1)
            try FileManager.default.removeItem(atPath: other.keybag)
            let belongs = try restore(other.path)
            #expect(belongs.status == 1 && belongs.errors.contains("another vault's"), "\(belongs)")
            let mount = try MountedVault(vault)
            #expect(try restore(vault.path).errors.contains("mounted already"))
            mount.detach()
            #expect(Disk.tree(vault.path) == before && !Disk.exists(vault.folder.path("elsewhere.key")))
            try withMount(vault) { mount in
                let text = try shell("cat b", in: mount.path).text
                #expect(text == "secret\n")
            }
        }
    }
}
