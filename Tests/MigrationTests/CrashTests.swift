import CrashSimulator
import Foundation
import Posix
import Store
import TestStores
import TestSupport
import Testing

@testable import Migration

extension MigrationTests {
    /// The machine loses its power at each moment of a migration. Every state that the disk may hold then is migrated
    /// to the end, in the one direction or in the other: nothing may be missing, changed, or there twice.
    @Suite(.serialized) struct Crashes {
        /// With times of whole seconds, which the simulated disk keeps.
        static let tree = """
            mkdir -p a/b empty; seq 3000 > a/numbers; head -c 300000 /dev/urandom > a/b/random; : > a/b/nothing
            printf x > one; ln a/numbers hard; ln a/numbers a/b/hard; ln -s a/numbers soft; mkfifo a/fifo
            truncate -s 200000 hole; echo data >> hole; setfattr -n user.note -v text one
            chmod 640 one; chmod 750 a/b; for n in $(seq 12); do echo $n > a/b/$n; done
            find . -type f -exec touch -d '2020-02-02 02:02:02' {} +
            """

        @Test(arguments: SimulatedDisk.Order.allCases, [Migration.Direction.protect, .unprotect])
        func loseNothing(order: SimulatedDisk.Order, direction: Migration.Direction) throws {
            try Self.crash(direction, order, overwriting: false)
        }

        @Test(arguments: SimulatedDisk.Order.allCases) func overwritingOriginals(order: SimulatedDisk.Order) throws {
            try Self.crash(.protect, order, overwriting: true)
        }

        private static func crash(
            _ direction: Migration.Direction, _ order: SimulatedDisk.Order, overwriting: Bool
        ) throws {
            let folder = try MigratedFolder(Self.tree)
            let before = try folder.snapshotOfFolder().withoutTimes
            var options = MigrationOptions()
            options.batchFiles = 4
            options.overwrites = overwriting
            if direction == .unprotect { try folder.migrate(.protect, options) }
            let recording = try RecordingStore(
                DirectoryStore(path: Path(folder.place.path)), keepsMetadataOrder: order == .ordered)
            folder.store = recording
            #expect(try folder.migrate(direction, options).isComplete)

            let states = ProcessInfo.processInfo.environment["LATCHKEY_CRASH_STATES"].flatMap { Int($0) } ?? 40
            let name = "\(direction) a folder" + (overwriting ? ", overwriting" : "")
            var turn = 0
            let report = try Simulation(name, order, budget: states).run(
                recording.recorder.records, found: recording.recorder.foundCount
            ) { state, _ in
                turn += 1
                let back: Migration.Direction = turn % 3 == 0 ? .unprotect : .protect
                return try Self.violations(
                    of: try MigratedFolder(folder, in: state), back, isUndo: back != direction, before)
            }
            print("crash: \(name), \(order.rawValue): \(report)")
            for example in report.examples { print("crash:     \(example)") }
            #expect(report.badStates == 0, "\(report)")
        }

        private static func violations(
            of state: MigratedFolder, _ direction: Migration.Direction, isUndo: Bool, _ before: Snapshot
        ) throws -> [Violation] {
            do {
                try state.waitUntilClosed()
                guard try state.migrate(direction, isUndo: isUndo).isComplete else {
                    return [Violation(.stuck, "\(direction): not complete: \(state.events)")]
                }
                let after = direction == .protect ? try state.snapshotOfVault() : try state.snapshotOfFolder()
                let differences = after.withoutTimes.differences(from: before)
                let events = state.events.map { "\(direction): \($0)" }
                return (differences.prefix(3).map { "\(direction): \($0)" } + events).map { Violation(.contents, $0) }
            } catch { return [Violation(.stuck, "\(direction): \(error)")] }
        }
    }
}

extension Snapshot {
    /// Without what a simulated disk does not keep: times of access, and those of all but files.
    var withoutTimes: Snapshot {
        var copy = self
        for (path, var entry) in entries {
            let none = Timespec(seconds: 0, nanoseconds: 0)
            entry.metadata.accessed = none
            if entry.kind != .regular { entry.metadata.modified = none }
            copy.entries[path] = entry
        }
        return copy
    }
}
