import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// The device key: where it lies, and what happens when it is missing or another vault's.
    @Suite struct DeviceKeys {
        @Test func liesInTheStateFolderForItsOwnerAlone() throws {
            let vault = try Vault()
            let path = try vault.deviceKeyFile()
            let bytes = try Disk.read(path)
            #expect(bytes.count == 64)
            #expect(bytes.starts(with: Array("LKDEVKEY".utf8)))
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            for name in Disk.tree(vault.path) {
                let content = (try? Disk.read(vault.path + "/" + name)) ?? []
                #expect(!content.contains(Array(bytes[32...])), "\(name): the device key never lies in the vault")
            }
        }

        @Test func whereItIsTold() throws {
            let folder = try TemporaryFolder()
            let key = folder.path("my.key")
            let vault = try Vault(["--device-key", key], in: folder)
            #expect(Disk.exists(key))
            try withMount(vault, options: ["--device-key", key]) { _ in }
            let outcome = try vault.latchkey(["mount", vault.path, try folder.makeFolder("m")])
            #expect(outcome.status == 1 || outcome.status == 5, "\(outcome)")
            #expect(outcome.errors.contains("--device-key") || outcome.errors.contains("--recovery"), "\(outcome)")
        }

        /// A device key with too open a mode is still used, so that the owner reaches the files. Each use warns until
        /// the mode is closed.
        @Test func oneThatOthersMayReadIsWarnedOf() throws {
            let vault = try Vault()
            let key = try vault.deviceKeyFile()
            let point = try vault.folder.makeFolder("m")
            let warning = "the file of the device key can be read by every user of this machine"
            let advice = "try: chmod 600 \(key)"
            func expectWarned(_ outcome: Outcome, sourceLocation: SourceLocation = #_sourceLocation) {
                let said = outcome.text + outcome.errors
                #expect(outcome.status == 0, "\(outcome)", sourceLocation: sourceLocation)
                #expect(said.contains(warning) && said.contains(advice), "\(said)", sourceLocation: sourceLocation)
            }
            unsafe chmod(key, 0o644)
            expectWarned(try vault.latchkey(["mount", vault.path, point]))
            defer { unsafe umount2(point, Int32(MNT_DETACH)) }
            expectWarned(try vault.latchkey(["unlock", point, "--passcode-file", vault.passcodeFile]))
            expectWarned(try vault.latchkey(["status", point]))
            expectWarned(try vault.latchkey(["status"]))
            expectWarned(try vault.latchkey(["device-key", "show", vault.path]))
            try shell("chmod 600 \(key)").succeeded()
            for command in [
                ["unlock", point, "--passcode-file", vault.passcodeFile], ["status", point],
                ["device-key", "show", vault.path],
            ] {
                let outcome = try vault.latchkey(command).succeeded()
                #expect(!(outcome.text + outcome.errors).contains("can be read"), "\(outcome)")
            }
            try vault.latchkey(["unmount", point]).succeeded()

            unsafe chmod(key, 0o660)
            let mount = try MountedVault(vault)
            try mount.unmount()
            #expect(mount.messages.contains("warning: the file of the device key can be read and changed by the group"))
            guard geteuid() == 0 else { return }
            unsafe chmod(key, 0o600)
            unsafe chown(key, 65_534, 65_534)
            let outcome = try vault.latchkey(["device-key", "show", vault.path]).succeeded()
            #expect(outcome.text.contains("the file of the device key belongs to another user, 65534"), "\(outcome)")
            #expect(outcome.text.contains("try: sudo chown 0 \(key)"), "\(outcome)")
        }

        /// If the file is no device key, the error does not blame the vault.
        @Test(arguments: [0, 63, 65]) func aFileThatIsNoDeviceKey(count: Int) throws {
            let vault = try Vault()
            let key = vault.folder.path("no.key")
            let whole = try Disk.read(vault.deviceKeyFile())
            try Disk.write(Array((whole + [0]).prefix(count)), to: key)
            let folder = try vault.folder.makeFolder("m")
            let outcome = try vault.latchkey(["mount", vault.path, folder, "--device-key", key])
            #expect(outcome.status == 1, "\(outcome)")
            #expect(outcome.errors.contains("no.key") && outcome.errors.contains("--device-key"), "\(outcome)")
            #expect(!outcome.errors.contains("damaged"), "\(outcome)")
        }

        /// On a new machine: the recovery key opens the vault and a new device key is made.
        @Test func recovery() throws {
            let vault = try Vault(["--default-class", "complete"])
            let probe = try Probe()
            try withMount(vault) { mount in
                try probe.write(mount.file("file"), [1, 2, 3])
            }
            try FileManager.default.removeItem(atPath: try vault.deviceKeyFile())
            let lost = try vault.latchkey(["mount", vault.path, try vault.folder.makeFolder("m")])
            #expect(lost.status != 0)
            #expect(lost.errors.contains("--recovery"), "what to type next: \(lost)")
            try withMount(
                vault, unlocked: false,
                options: [
                    "--recovery", "--recovery-key-file", vault.recoveryKeyFile, "--passcode-file", vault.passcodeFile,
                ]
            ) { mount in
                #expect(try probe.contents(mount.file("file")) == [1, 2, 3])
                try mount.lockNow()
                try mount.unlock()
            }
            try withMount(vault) { mount in
                let contents = try probe.contents(mount.file("file"))
                #expect(contents == [1, 2, 3])
            }
        }

        @Test func aWrongRecoveryKeyIsExitThree() throws {
            let vault = try Vault()
            let other = try Vault()
            try withMount(vault, unlocked: false) { mount in
                let outcome = try mount.latchkey(
                    "unlock", mount.path, "--recovery", "--recovery-key-file", other.recoveryKeyFile)
                #expect(outcome.status == 3, "\(outcome)")
                // The check bits detect a typing error.
                var text = Array(try Disk.read(vault.recoveryKeyFile))
                text[0] = text[0] == 65 ? 66 : 65
                let typed = vault.folder.path("typed")
                try Disk.write(text, to: typed)
                let mistyped = try mount.latchkey("unlock", mount.path, "--recovery", "--recovery-key-file", typed)
                #expect([1, 2, 3].contains(mistyped.status), "\(mistyped)")
                #expect(try mount.status().state == "before-first-unlock")
            }
        }
    }
}
