import Foundation
import Glibc
import Testing

extension MountTests {
    /// A vault that nobody opens any more.
    @Suite struct Erasing {
        private let vault: Vault
        private let deviceKey: String
        private let copy: String

        init() throws {
            vault = try Vault(["--default-class", "complete"])
            try withMount(vault) { try shell("mkdir d; seq 5000 > d/a; echo secret > b", in: $0.path).succeeded() }
            deviceKey = try vault.deviceKeyFile()
            copy = vault.folder.path("copy-of-the-keybag")
            try run("cp", [vault.keybag, copy]).succeeded()
        }

        /// Passcode and a copy of the keybag open nothing; with the recovery key it opens, which is why it says so.
        private func expectErased() throws {
            #expect(!Disk.exists(deviceKey) && !Disk.exists(deviceKey + ".tries") && !Disk.exists(vault.keybag))
            let point = try vault.folder.makeFolder("m\(UUID())")
            #expect(try vault.latchkey(["mount", vault.path, point]).status == 5)
            try run("cp", [copy, vault.keybag]).succeeded()
            let outcome = try vault.latchkey(
                ["mount", "--unlock", "--passcode-file", vault.passcodeFile, vault.path, point])
            #expect(outcome.status == 1 && outcome.errors.contains("device key"), "\(outcome)")
            try withMount(
                vault, unlocked: false,
                options: [
                    "--recovery", "--recovery-key-file", vault.recoveryKeyFile, "--passcode-file", vault.passcodeFile,
                ]
            ) { mount in
                let text = try shell("cat b", in: mount.path).text
                #expect(text == "secret\n")
            }
        }

        @Test func whenItIsNotMounted() throws {
            let asked = try vault.latchkey(["erase", vault.path])
            #expect(asked.status == 2 && asked.errors.contains("--yes"), "\(asked)")
            #expect(Disk.exists(deviceKey) && Disk.exists(vault.keybag))
            try vault.latchkey(["erase", "--yes", vault.path]).succeeded()
            try expectErased()
        }

        /// With files open: they are gone for those who have them, and no key is in memory, for there is no process.
        @Test func whenItIsMounted() throws {
            let mount = try MountedVault(vault)
            defer { mount.detach() }
            let holder = try Dialogue("bash", [])
            _ = try holder.say("exec 3< \(mount.file("b"))", mark: ("echo .", "."))
            try vault.latchkey(["erase", "--yes", mount.path]).succeeded()
            let read = try holder.say("cat <&3; echo $?", mark: ("echo .", "."))
            #expect(!read.contains("secret"), "\(read)")
            mount.daemon.wait()
            try expectErased()
        }

        @Test func withItsFiles() throws {
            try vault.latchkey(["erase", "--yes", "--files", vault.path]).succeeded()
            #expect(Disk.tree(vault.path).isEmpty)
            #expect(!Disk.exists(deviceKey))
        }

        /// A vault that is damaged already, and one whose device key is elsewhere.
        @Test func whatIsMissingIsNoHindrance() throws {
            try FileManager.default.removeItem(atPath: deviceKey)
            try vault.latchkey(["erase", "--yes", vault.path]).succeeded()
            #expect(!Disk.exists(vault.keybag))
        }
    }
}
