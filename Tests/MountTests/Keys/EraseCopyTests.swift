import Foundation
import TestSupport
import Testing

extension MountTests {
    /// A copy of a vault is erased: the original shares its device key.
    @Suite struct ErasingCopies {
        let vault: Vault
        let copy: Vault

        init() throws {
            vault = try Vault(["--default-class", "complete"])
            try withMount(vault) { mount in try shell("echo kept > file", in: mount.path).succeeded() }
            copy = Vault(copy: vault.folder.path("copy"), of: vault)
            try shell("cp -r '\(vault.path)' '\(copy.path)'", in: "/").succeeded()
        }

        private func expectOpens(_ vault: Vault) throws {
            try withMount(vault) { mount in
                let text = try shell("cat file", in: mount.path).text
                #expect(text == "kept\n")
            }
        }

        private func expectRefused(_ outcome: Outcome, _ words: String...) throws {
            #expect(outcome.status == 1, "\(outcome)")
            let advice = ["latchkey erase --keep-device-key ", "latchkey erase --copies ", "nothing was done"]
            for word in words + advice { #expect(outcome.errors.contains(word), "\(word): \(outcome)") }
            #expect(Disk.exists(copy.keybag))
            _ = try vault.deviceKeyFile()
        }

        @Test func whileTheOriginalIsMounted() throws {
            try withMount(vault) { mount in
                try expectRefused(
                    try vault.latchkey(["erase", "--yes", copy.path]), vault.path, "is mounted at \(mount.path)")
                let outcome = try vault.latchkey(["erase", "--yes", "--keep-device-key", copy.path]).succeeded()
                #expect(outcome.text.contains("The device key is kept"), "\(outcome)")
            }
            #expect(!Disk.exists(copy.keybag))
            #expect(try vault.latchkey(["slot", "list", copy.path]).errors.contains("was erased on"))
            try expectOpens(vault)
        }

        /// The daemon of the copy destroys its keybag, and ends.
        @Test(arguments: [true, false]) func whileTheCopyIsMounted(_ isOriginalMounted: Bool) throws {
            let mount = try MountedVault(copy, options: ["-o", "ro"], at: "copy-mount")
            defer { mount.detach() }
            let original = isOriginalMounted ? try MountedVault(vault) : nil
            if let original {
                try expectRefused(
                    try vault.latchkey(["erase", "--yes", mount.path]), "is mounted at \(original.path)")
            }
            let outcome = try vault.latchkey(["erase", "--yes", "--keep-device-key", mount.path]).succeeded()
            #expect(outcome.text.contains("The device key is kept"), "\(outcome)")
            #expect(mount.daemon.wait(seconds: 20) == 1, "\(mount.messages)")
            #expect(!Disk.exists(copy.keybag))
            if let original {
                #expect(try shell("cat file", in: original.path).text == "kept\n")
                try original.unmount()
            }
            try expectOpens(vault)
        }

        /// With `--copies`, and of copies that are not in use, the device key goes, and the command says so.
        @Test(arguments: [true, false]) func allTheSame(_ isMounted: Bool) throws {
            let mount = isMounted ? try MountedVault(vault) : nil
            let options = isMounted ? ["--copies"] : []
            let outcome = try vault.latchkey(["erase", "--yes"] + options + [copy.path]).succeeded()
            #expect(outcome.text.contains("Copies of it on this machine have lost their device key"), "\(outcome)")
            try mount?.unmount()
            let point = try vault.folder.makeFolder("point")
            let opened = try vault.latchkey(
                ["mount", "--unlock", "--passcode-file", vault.passcodeFile, vault.path, point])
            #expect(opened.status == 1 && opened.errors.contains("device key"), "\(opened)")
        }

        @Test func aNamedVaultIsNotErasedWithItsCopy() throws {
            let scene = try NamedScene()
            try scene.makeVault("work", "--default-class", "complete")
            let folder = scene.home.path(".local/share/latchkey/vaults/work")
            try shell("cp -r '\(folder)' copy; ln -s '\(folder)' link", in: scene.home.path).succeeded()
            let refused = try scene.latchkey("erase", "--yes", "./copy")
            #expect(refused.status == 1 && refused.errors.contains("has the name work"), "\(refused)")
            #expect(refused.errors.contains("try: latchkey erase --keep-device-key ./copy"), "\(refused)")
            try scene.latchkey("erase", "--yes", "--keep-device-key", "--files", "./copy").succeeded()
            try scene.latchkey("open", "work", "--passcode-file", scene.passcodeFile).succeeded()
            try scene.latchkey("erase", "--yes", "work").succeeded()
        }

        /// By its own name, and by a symbolic link, a named vault is no copy of itself.
        @Test func theVaultIsNoCopyOfItself() throws {
            let scene = try NamedScene()
            try scene.makeVault("work")
            let folder = scene.home.path(".local/share/latchkey/vaults/work")
            try shell("ln -s '\(folder)' link", in: scene.home.path).succeeded()
            let outcome = try scene.latchkey("erase", "--yes", "./link").succeeded()
            #expect(outcome.text.contains("nothing opens it any more"), "\(outcome)")
        }

        /// The keybag of a copy that was made with hard links is the original's own file.
        @Test(arguments: [true, false]) func aKeybagWithTwoNames(_ isMounted: Bool) throws {
            try shell("ln -f '\(vault.keybag)' '\(copy.keybag)'", in: "/").succeeded()
            let before = try Disk.read(vault.keybag)
            let mount = isMounted ? try MountedVault(copy, unlocked: false) : nil
            defer { mount?.detach() }
            let outcome = try vault.latchkey(["erase", "--yes", "--keep-device-key", copy.path]).succeeded()
            #expect(outcome.text.contains("(hard links)"), "\(outcome)")
            mount?.daemon.wait()
            #expect(!Disk.exists(copy.keybag))
            #expect(try Disk.read(vault.keybag) == before)
            try expectOpens(vault)
        }
    }
}
