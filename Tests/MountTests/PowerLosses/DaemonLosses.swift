import Foundation
import TestSupport
import Testing

@testable import CrashSimulator

extension MountTests.PowerLosses {
    /// The daemon mounts the state after a crash: programs see in it what the simulator sees, which compares that with
    /// the guarantee. LATCHKEY_CRASH_MOUNTS is the number of states.
    @Suite struct Daemons {
        @Test(arguments: SimulatedDisk.Order.allCases) func showWhatWasPromised(order: SimulatedDisk.Order) throws {
            if let missing = Built.missing { throw HarnessError(missing) }
            let recorded = try BusyVault(acts: 150, seed: 31).recorded
            let states = ProcessInfo.processInfo.environment["LATCHKEY_CRASH_MOUNTS"].flatMap { Int($0) } ?? 15
            let name = "states that the daemon mounts"
            let (copy, plain) = (try StateFolder(), try StateFolder())
            var promise = recorded.promise
            let report = try Simulation(name, order, budget: states).run(recorded.records, found: recorded.found) {
                state, crash in
                promise.advance(to: crash)
                let expected = promise.during(crash)
                try copy.hold(contentsOf: state)
                var seen: Observation?
                let violations = recorded.keys.check(copy) { observation in
                    seen = observation
                    return expected.violations(in: observation)
                }
                guard violations.isEmpty, let seen else { return violations }
                try plain.hold(seen)
                // And once more after a clean unmount.
                return try differences(state, from: plain, seen, deviceKey: recorded.folder.keyPath)
                    + recorded.keys.check(state) { expected.violations(in: $0) }
            }
            print("crash: \(name), \(order.rawValue): \(report)")
            for example in report.examples { print("crash:     \(example)") }
            #expect(report.badStates == 0, "\(report)")
        }

        /// How a mount of the vault in a folder differs from the expected names, contents and classes.
        private func differences(
            _ state: StateFolder, from plain: StateFolder, _ seen: Observation, deviceKey: String
        ) throws -> [Violation] {
            let vault = try Vault(at: state.path, passcode: VaultKeys.passcodeText)
            return try withMount(vault, options: ["--device-key", deviceKey]) { mount in
                // By a separate program, which can be killed.
                let difference = try attempt("diff", ["-r", "--no-dereference", plain.path, mount.path])
                // It fails if an entry has no class, such as a link.
                let listed = try attemptShell(
                    "getfattr -R -P -h -n user.latchkey.class . 2>/dev/null", in: mount.path
                ).text
                var classes: [String: String] = [:]
                let lines = listed.split(separator: "\n")
                for (file, value) in zip(lines, lines.dropFirst()) where file.hasPrefix("# file: ") {
                    classes[String(file.dropFirst(8))] = value.split(separator: "\"").last.map(String.init)
                }
                return (difference.status == 0 ? [] : [Violation(.program, "\(difference)")])
                    + (classes == self.classes(seen) ? [] : [Violation(.protection, "\(classes)")])
            }
        }

        /// The classes by path, as getfattr names them.
        private func classes(_ seen: Observation) -> [String: String] {
            var classes: [String: String] = [:]
            for folder in seen.folders.values {
                let path = folder.path == "/" ? "" : String(folder.path.dropFirst())
                classes[path.isEmpty ? "." : path] = folder.protection.protectionClass.name
                for (name, entry) in folder.entries {
                    guard case .file(let file) = entry else { continue }
                    classes[path.isEmpty ? "\(name)" : "\(path)/\(name)"] = file.protection.protectionClass.name
                }
            }
            return classes
        }
    }
}
