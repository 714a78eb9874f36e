import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// `latchkey monitor`, and `lock --wait`: their output while a mount's state changes.
    @Suite struct Monitoring {
        private struct Line: Decodable {
            struct Status: Decodable {
                var state: String
                var sequence: Int
                var deadline: Double?
                var lastLockDuration: Double?
            }
            var event: String?
            var status: Status
        }

        private func lines(of output: StreamFile) -> [String] {
            String(decoding: output.contents, as: UTF8.self).split(separator: "\n").map(String.init)
        }

        /// Returns when there are this many lines.
        private func wait(for count: Int, _ output: StreamFile) throws -> [String] {
            let end = ContinuousClock.now + .seconds(20)
            while true {
                let found = lines(of: output)
                if found.count >= count { return found }
                guard ContinuousClock.now < end else { throw HarnessError("only these lines: \(found)") }
                usleep(5_000)
            }
        }

        private func monitor(_ scene: Scene, _ options: [String] = []) throws -> (Child, StreamFile) {
            let output = try StreamFile()
            let child = try Child(
                Built.latchkey, ["monitor", scene.mount.path] + options, environment: scene.mount.vault.environment,
                input: output.descriptor, output: output.descriptor, errors: output.descriptor)
            return (child, output)
        }

        @Test func everyChangeIsALine() throws {
            var watching: (text: Child, json: Child)?
            var outputs: (text: StreamFile, json: StreamFile)?
            try withScene(grace: 1) { scene in
                let text = try monitor(scene)
                let json = try monitor(scene, ["--json"])
                watching = (text.0, json.0)
                outputs = (text.1, json.1)
                _ = try wait(for: 1, text.1)
                _ = try wait(for: 1, json.1)
                try scene.mount.latchkey("lock", scene.mount.path).succeeded()
                try scene.mount.latchkey("lock", scene.mount.path).succeeded()
                try scene.mount.latchkey("lock", scene.mount.path, "--wait").succeeded()
                try scene.mount.unlock()
                try scene.mount.lockNow()
                _ = try wait(for: 6, text.1)
                _ = try wait(for: 6, json.1)
            }
            // The mount has ended, and the monitors with it.
            let (watchers, written) = (try #require(watching), try #require(outputs))
            #expect(watchers.text.wait(seconds: 20) == 0)
            #expect(watchers.json.wait(seconds: 20) == 0)

            let words = lines(of: written.text).map { $0.split(separator: " ").map(String.init) }
            #expect(
                words.map { $0[2].replacingOccurrences(of: ",", with: "") } == [
                    "unlocked", "will-become-unavailable", "did-become-unavailable", "did-become-available",
                    "will-become-unavailable", "did-become-unavailable",
                ])
            let json = try lines(of: written.json).map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
            #expect(
                json.map(\.event) == [
                    nil, "will-become-unavailable", "did-become-unavailable", "did-become-available",
                    "will-become-unavailable", "did-become-unavailable",
                ])
            #expect(json.map(\.status.sequence) == [1, 2, 3, 4, 5, 6])
            #expect(json[1].status.deadline != nil)
            #expect(json[2].status.lastLockDuration != nil)
        }

        /// A monitor that is stopped for a while delays no other program, and has missed nothing when it continues.
        @Test func aStoppedMonitorMissesNothing() throws {
            try withScene(grace: 0) { scene in
                let (child, output) = try monitor(scene, ["--json"])
                defer { child.send(SIGKILL) }
                _ = try wait(for: 1, output)
                child.send(SIGSTOP)
                for _ in 0..<8 {
                    try scene.mount.latchkey("lock", scene.mount.path, "--wait").succeeded()
                    try scene.mount.unlock()
                }
                child.send(SIGCONT)
                let all = try wait(for: 25, output).map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
                #expect(all.map(\.status.sequence) == Array(1...25))
            }
        }

        @Test func lockTellsItsProgressAndThenThatItIsDone() throws {
            try withScene(grace: 1) { scene in
                let outcome = try scene.mount.latchkey("lock", scene.mount.path, "--wait").succeeded()
                #expect(outcome.errors.hasPrefix("the keys will be gone, at "), "\(outcome)")
                let said = outcome.text.split(separator: "\n")
                #expect(said.count == 1)
                #expect(said[0].hasPrefix("\(scene.mount.path) is locked: the keys are gone, "), "\(outcome)")
                #expect(said[0].hasSuffix(" s after the deadline."), "\(outcome)")
                #expect(try scene.mount.status().lastLockDuration != nil)
            }
        }

        @Test func lockTellsThatItWasCancelled() throws {
            try withScene(grace: 3600) { scene in
                let output = try StreamFile()
                let locking = try Child(
                    Built.latchkey, ["lock", scene.mount.path, "--wait"], environment: scene.mount.vault.environment,
                    input: output.descriptor, output: output.descriptor, errors: output.descriptor)
                _ = try wait(for: 1, output)
                try scene.mount.unlock()
                #expect(locking.wait(seconds: 20) == 1)
                #expect(lines(of: output).contains { $0.contains("an unlock has cancelled the lock") })
            }
        }
    }
}
