import CrashSimulator
import Foundation
import Posix
import Testing

extension MountTests.PowerLosses {
    @Suite struct Databases {
        struct Mode: CustomTestStringConvertible, Sendable {
            let testDescription: String
            let pragmas: String
            /// How many acknowledged transactions SQLite itself does not promise to keep: in rollback mode the removal
            /// of the journal is durable with the next transaction only, unless it is told to sync the directory.
            let unsafe: Int
        }

        static let modes = [
            Mode(
                testDescription: "SQLite, WAL",
                pragmas: "PRAGMA journal_mode=wal; PRAGMA synchronous=full; PRAGMA wal_autocheckpoint=30;", unsafe: 0),
            Mode(
                testDescription: "SQLite, rollback", pragmas: "PRAGMA journal_mode=delete; PRAGMA synchronous=full;",
                unsafe: 1),
            Mode(
                testDescription: "SQLite, full sync", pragmas: "PRAGMA journal_mode=delete; PRAGMA synchronous=extra;",
                unsafe: 0),
        ]

        private static let inquiry = "SELECT (SELECT max(tx) FROM log), count(*), sum(id), sum(length(x)) FROM t;"

        @Test(arguments: modes) func keepAcknowledgedTransactions(_ mode: Mode) throws {
            let mount = try RecordedMount()
            var told = Acknowledgements<String>()
            let database = try SQLite(mount.file("data.db"))
            try database.ask(mode.pragmas)
            try database.ask("CREATE TABLE t(id INTEGER PRIMARY KEY, x BLOB);")
            try database.ask("CREATE TABLE log(tx INTEGER PRIMARY KEY);")
            told.add("|0||", at: try mount.count())
            for transaction in 1...40 {
                try database.ask(
                    """
                    BEGIN; INSERT INTO log VALUES (\(transaction));
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(transaction % 7 + 1))
                    INSERT INTO t(x) SELECT randomblob(\(transaction * 37 % 900)) FROM n;
                    UPDATE t SET x = randomblob(300) WHERE id % 11 = \(transaction % 11); COMMIT;
                    """)
                let count = try mount.count()
                told.add(try database.ask(Self.inquiry), at: count)
            }
            #expect(database.dialogue.end() == 0)
            #expect(told.all.last!.value.hasPrefix("40|"))

            let recorded = try mount.end()
            let checker = try Checker()
            for order in SimulatedDisk.Order.allCases {
                try losePower(mode.testDescription, order, recorded, states: 300) { state, crash in
                    try mount.keys.check(state) { observation in
                        observation.violations + (try checker.violations(in: observation, told, before: crash, mode))
                    }
                }
            }
        }

        /// One sqlite3 for all states.
        final class Checker {
            private let sqlite = try! SQLite(":memory:")
            private let folder = try! StateFolder()

            init() throws {}

            func violations(
                in observation: Observation, _ told: Acknowledgements<String>, before crash: Int, _ mode: Mode
            ) throws -> [Violation] {
                try sqlite.ask(".open :memory:")
                try folder.hold(observation)
                // The index of the WAL is never synced, and SQLite makes it anew.
                try? FileManager.default.removeItem(atPath: folder.path + "/data.db-shm")
                try sqlite.ask(".open '\(folder.path)/data.db'")
                let count = told.count(before: crash)
                let answer = try sqlite.ask("PRAGMA integrity_check; \(inquiry)")
                // Those acknowledged, or one more that was under way; the first is the creation of the table.
                let first = max(0, count - 1 - mode.unsafe)
                let allowed = told.all[first..<min(told.all.count, count + 1)].map(\.value)
                if count <= mode.unsafe, answer.contains("no such table") { return [] }
                guard allowed.contains(where: { answer == "ok\n" + $0 }) else {
                    return [Violation(.program, "\(answer.prefix(200)), not \(allowed)")]
                }
                return []
            }
        }
    }
}
