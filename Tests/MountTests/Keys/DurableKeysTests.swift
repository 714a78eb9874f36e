import Foundation
import TestSupport
import Testing

extension MountTests {
    /// What must be durable before a program goes on, as strace(1) sees its calls.
    @Suite struct DurableKeys {
        private let vault: Vault
        private let deviceKey: String

        init() throws {
            vault = try Vault()
            deviceKey = try vault.deviceKeyFile()
        }

        /// The program's calls on files whose paths have these ends, each as its name and the end of the path.
        private func calls(_ arguments: [String], on ends: [String]) throws -> [String] {
            let log = vault.folder.path("trace")
            // The exit code is not checked: a wrong passcode has its own.
            _ = try attempt(
                "strace",
                ["-f", "-y", "-e", "trace=pwrite64,fsync,fdatasync,unlink,unlinkat", "-o", log, Built.latchkey]
                    + arguments,
                environment: vault.environment)
            return String(decoding: try Disk.read(log), as: UTF8.self).split(separator: "\n").compactMap { line in
                guard !line.contains("= -1"), let end = ends.first(where: { line.contains($0) }) else { return nil }
                let call = line.drop { $0.isNumber || $0 == " " }.prefix { $0 != "(" }
                return "\(call == "unlinkat" ? "unlink" : call) \(end)"
            }
        }

        /// A wrong passcode is counted durably before it is tried, and stays counted.
        @Test func aTryIsCountedDurably() throws {
            let wrong = try vault.folder.write("wrong", to: "wrong")
            let made = try calls(["slot", "test", "--passcode-file", wrong, vault.path], on: [".tries>"])
            #expect(made == ["pwrite64 .tries>", "fdatasync .tries>", "pwrite64 .tries>", "fdatasync .tries>"])
        }

        /// A vault that was not made leaves no key behind: neither a device key, nor a keybag that the machine
        /// remembers.
        @Test(arguments: ["symlinkat", "fsync"]) func aVaultThatIsNotMadeLeavesNothing(failing call: String) throws {
            var failures = 0
            for number in 1...15 {
                let state = try vault.folder.makeFolder("state-\(number)", mode: 0o700)
                let made = vault.folder.path("made-\(number)")
                let outcome = try attempt(
                    "strace",
                    ["-f", "-e", "trace=\(call)", "-e", "inject=\(call):error=EIO:when=\(number)", "-o", "/dev/null"]
                        + [Built.latchkey, "init", made, "--kdf-memory", "19", "--kdf-passes", "2"]
                        + ["--passcode-file", vault.passcodeFile, "--recovery-key-file", made + ".recovery"],
                    environment: vault.environment.merging(["XDG_STATE_HOME": state]) { $1 })
                // A failure of a call that only tries what the store can do fails nothing.
                guard outcome.status != 0 else { continue }
                failures += 1
                let left = Disk.tree(state).filter { $0.contains(".key") } + Disk.tree(made)
                #expect(left == [], "at call \(number): \(outcome)")
            }
            #expect(failures > 0)
        }

        /// The device key's bytes are overwritten durably before its name is removed.
        @Test func aDeviceKeyIsWrittenOverDurably() throws {
            let made = try calls(["erase", "--yes", vault.path], on: [".key>", ".key\""])
            #expect(
                made == ["pwrite64 .key>", "fsync .key>", "pwrite64 .key>", "fsync .key>", "unlink .key\""], "\(made)")
        }
    }
}
