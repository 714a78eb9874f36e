import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Nothing secret in logs, errors, JSON, core files or /proc.
    @Suite struct Secrets {
        /// Every form in which the passcode, the recovery key or the device key could appear.
        private func secrets(of vault: Vault) throws -> [(name: String, form: [UInt8])] {
            let device = Array(try Disk.read(vault.deviceKeyFile())[32...])
            let recovery = String(decoding: try Disk.read(vault.recoveryKeyFile), as: UTF8.self)
                .trimmingCharacters(in: .whitespacesAndNewlines)
            return [
                ("passcode", Array(Vault.passcode.utf8)),
                ("passcode in base64", Array(Data(Vault.passcode.utf8).base64EncodedString().utf8)),
                ("passcode in hex", Array([UInt8](Vault.passcode.utf8).hexadecimal.utf8)),
                ("recovery key", Array(recovery.prefix(24).utf8)),
                ("recovery key", Array(recovery.replacingOccurrences(of: "-", with: "").prefix(20).utf8)),
                ("device key", device), ("device key in hex", Array(device.hexadecimal.utf8)),
                ("device key in base64", Array(Data(device).base64EncodedString().utf8)),
            ]
        }

        private func expectNone(_ secrets: [(name: String, form: [UInt8])], in bytes: [UInt8], of what: String) {
            for secret in secrets {
                #expect(!bytes.contains(secret.form), "the \(secret.name) is in \(what)")
            }
        }

        @Test func inWhatTheProgramsSay() throws {
            let vault = try Vault(["--default-class", "complete"])
            let secrets = try secrets(of: vault)
            let mount = try MountedVault(vault)
            let probe = try Probe()
            try probe.write(mount.file("file"), Array("the contents of a strict file".utf8))
            let wrong = try vault.folder.write(Vault.passcode + "!", to: "wrong")
            var said: [UInt8] = []
            for arguments in [
                ["status", mount.path], ["status", "--json"], ["explain", mount.file("file")],
                ["explain", "--json", mount.file("file")], ["explain", "--ciphertext", mount.file("file")],
                ["unlock", mount.path, "--passcode-file", wrong], ["lock", mount.path, "--now", "--wait"],
                ["unlock", mount.path, "--recovery", "--recovery-key-file", wrong],
                ["explain", "--ciphertext", mount.file("file")],
                ["unlock", mount.path, "--passcode-file", vault.passcodeFile],
                ["unlock", mount.path, "--passcode-file", vault.recoveryKeyFile], ["class", "get", mount.file("file")],
            ] {
                let outcome = try vault.latchkey(arguments)
                said += outcome.output + Array(outcome.errors.utf8)
            }
            expectNone(secrets, in: said, of: "what the commands say")
            #expect(!said.contains(Array("the contents of".utf8)), "ciphertext shows no plaintext")

            let process = "/proc/\(mount.daemon.pid)/"
            for name in ["cmdline", "environ", "status", "maps", "comm", "mountinfo"] {
                expectNone(secrets, in: try Disk.read(process + name), of: "the daemon's \(name)")
            }
            probe.process.send(9)
            probe.process.wait()
            try mount.unmount()
            expectNone(secrets, in: Array(mount.messages.utf8), of: "the daemon's log")
        }

        @Test func inTheVault() throws {
            let vault = try Vault(["--default-class", "none"])
            let secrets = try secrets(of: vault)
            try withMount(vault) { mount in
                let probe = try Probe()
                for protection in ProtectionClass.allCases {
                    let path = mount.file("a-telling-name-\(protection)")
                    try probe.write(path, Array("a telling content".utf8))
                    try probe.setClass(protection.rawValue, of: path).required()
                    try probe.ask("setxattr", path, "user.telling", Array("a telling value".utf8).hexadecimal)
                        .required()
                }
                try probe.ask("symlink", "a-telling-target", mount.file("link")).required()
            }
            for name in Disk.tree(vault.path) {
                let path = vault.path + "/" + name
                #expect(!name.contains("telling"))
                let link = try? Disk.target(ofLink: path)
                let bytes = link.map { Array($0.utf8) } ?? (try? Disk.read(path)) ?? []
                #expect(!bytes.contains(Array("telling".utf8)), "\(name)")
                expectNone(secrets, in: bytes, of: name)
            }
            // The records of directories are links, and are not followed.
            let attributes = try shell("getfattr -R -h -d -m - -e text .", in: vault.path)
            #expect(attributes.text.contains("user.lk="), "those of the vault's files are seen: \(attributes)")
            #expect(!attributes.text.contains("telling"))
        }

        /// A crash of the program writes no core file, while the same crash of another program does.
        @Test func noCoreFiles() throws {
            let vault = try Vault()
            let cores = try vault.folder.makeFolder("cores")
            let control = try StreamFile()
            let dumping = try Child(
                "sh", ["-c", "ulimit -c unlimited; kill -ABRT $$"], directory: cores,
                input: control.descriptor, output: control.descriptor, errors: control.descriptor)
            dumping.wait()
            guard dumping.dumpedCore else {
                Issue.record(
                    "NOT TESTED: no program leaves a core file here (ulimit -c, core_pattern)", severity: .warning)
                return
            }
            try shell("rm -f core*", in: cores).succeeded()
            let mountPoint = try vault.folder.makeFolder("m")
            let log = try StreamFile()
            let daemon = try Child(
                "sh",
                ["-c", "ulimit -c unlimited; exec \(Built.latchkey) mount --foreground \(vault.path) \(mountPoint)"],
                environment: vault.environment, directory: cores,
                input: log.descriptor, output: log.descriptor, errors: log.descriptor)
            let end = ContinuousClock.now + .seconds(20)
            while mountLines(of: mountPoint).isEmpty, ContinuousClock.now < end {
                #expect(daemon.wait(seconds: 0.02) == nil)
            }
            daemon.send(SIGABRT)
            #expect(daemon.wait(seconds: 20) == 128 + SIGABRT)
            #expect(!daemon.dumpedCore)
            #expect(Disk.tree(cores).isEmpty)
            unsafe umount2(mountPoint, Int32(MNT_DETACH))
        }

        /// The recovery key's file is its owner's alone, and is not printed when it goes to the file.
        @Test func theRecoveryKeyFile() throws {
            let vault = try Vault()
            let mode =
                try FileManager.default.attributesOfItem(atPath: vault.recoveryKeyFile)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let text = String(decoding: try Disk.read(vault.recoveryKeyFile), as: UTF8.self)
                .trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(text.split(separator: "-").count == 13)
            #expect(text.split(separator: "-").allSatisfy { $0.count == 4 })
        }
    }
}
