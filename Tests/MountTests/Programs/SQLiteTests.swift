import Glibc
import TestSupport
import Testing

extension MountTests {
    /// SQLite, the store that Core Data uses, in both of its modes.
    @Suite struct SQLiteInTheMount {
        private static let rows =
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %) "
            + "INSERT INTO t(i, x) SELECT i, hex(randomblob(40)) FROM n;"

        private func insert(_ count: Int) -> String {
            Self.rows.replacingOccurrences(of: "%", with: "\(count)")
        }

        /// A process other than those that have it open.
        private func expectCannotOpen(_ path: String) throws {
            let other = try attempt("sqlite3", [path, "SELECT count(*) FROM t;"])
            #expect(other.status != 0 && other.errors.contains("unable to open database"), "\(other)")
        }

        @Test(
            arguments: ["wal", "delete", "truncate"], [ProtectionClass.complete, .completeUntilFirstUserAuthentication])
        func works(_ mode: String, _ protection: ProtectionClass) throws {
            try withScene(["--default-class", protection.rawValue]) { scene in
                let database = try SQLite(scene.path("data.db"))
                #expect(try database.ask("PRAGMA journal_mode=\(mode);") == mode)
                try database.ask("CREATE TABLE t(id INTEGER PRIMARY KEY, i INT, x TEXT); CREATE INDEX u ON t(x);")
                for _ in 1...5 {
                    try database.ask("BEGIN; \(insert(400)) COMMIT;")
                }
                try database.ask("BEGIN; DELETE FROM t; ROLLBACK; UPDATE t SET x = 'short' WHERE i % 7 = 0;")
                try database.ask("DELETE FROM t WHERE i > 300; VACUUM;")
                #expect(try database.ask("SELECT count(*), sum(i) FROM t;") == "1500|225750")
                #expect(try database.ask("PRAGMA integrity_check;") == "ok")
                #expect(database.dialogue.end() == 0)

                let again = try SQLite(scene.path("data.db"))
                #expect(try again.ask("SELECT count(*), sum(i) FROM t;") == "1500|225750")
                #expect(try again.ask("PRAGMA integrity_check;") == "ok")
                #expect(again.dialogue.end() == 0)
            }
        }

        /// Two programs on one database: locks and the shared index must work between them.
        @Test(arguments: ["wal", "delete"])
        func twoProgramsShareADatabase(_ mode: String) throws {
            try withScene { scene in
                let one = try SQLite(scene.path("data.db"))
                let two = try SQLite(scene.path("data.db"))
                try one.ask("PRAGMA journal_mode=\(mode); CREATE TABLE t(i INT, x TEXT);")
                try one.ask(insert(10))
                #expect(try two.ask("SELECT count(*) FROM t;") == "10")
                try two.ask("BEGIN IMMEDIATE; \(insert(5))")
                #expect(try one.ask(insert(1)).contains("locked"))
                try two.ask("COMMIT;")
                #expect(try one.ask("SELECT count(*) FROM t;") == "15")
                #expect(one.dialogue.end() == 1, "of its one error")
                #expect(two.dialogue.end() == 0)
            }
        }

        /// A lock while a program has the database open: its calls are refused, without a report of damage, and it
        /// continues after the unlock; in WAL mode the mapped index does not kill it.
        @Test(arguments: [
            ("wal", ProtectionClass.complete), ("delete", .complete), ("delete", .completeUntilFirstUserAuthentication),
        ])
        func goesOnAfterALock(_ mode: String, _ protection: ProtectionClass) throws {
            try withScene(["--default-class", protection.rawValue]) { scene in
                let database = try SQLite(scene.path("data.db"))
                try database.ask("PRAGMA journal_mode=\(mode); PRAGMA cache_size=0;")
                try database.ask("CREATE TABLE t(id INTEGER PRIMARY KEY, i INT, x TEXT);")
                try database.ask(insert(2000))
                for turn in 1...3 {
                    try scene.mount.lock(closing: protection)
                    let refused = try database.ask("SELECT sum(i), max(x) FROM t;")
                    #expect(refused.contains("rror"), "turn \(turn): \(refused)")
                    #expect(!refused.contains("malformed"), "turn \(turn): \(refused)")
                    #expect(try !database.ask(insert(1)).isEmpty, "turn \(turn): an insert while locked")
                    try scene.mount.unlock()
                    #expect(try database.ask("SELECT count(*) FROM t;") == "\(1999 + turn)", "turn \(turn)")
                    try database.ask(insert(1))
                    #expect(try database.ask("PRAGMA integrity_check;") == "ok", "turn \(turn)")
                }
                #expect(database.dialogue.end() == 1, "of its errors while locked; not killed")
            }
        }

        /// A transaction that the lock interrupts is rolled back, and the connection continues after the unlock.
        @Test(arguments: [
            ("wal", ProtectionClass.complete), ("delete", .complete), ("delete", .completeUntilFirstUserAuthentication),
        ])
        func anInterruptedTransactionIsRolledBack(_ mode: String, _ protection: ProtectionClass) throws {
            try withScene(["--default-class", protection.rawValue]) { scene in
                let database = try SQLite(scene.path("data.db"))
                try database.ask("PRAGMA journal_mode=\(mode); CREATE TABLE t(id INTEGER PRIMARY KEY, i INT, x TEXT);")
                // A cache so small that the transaction must use the disk before its end.
                try database.ask("PRAGMA cache_size=2;")
                try database.ask(insert(100))
                try database.ask("BEGIN; \(insert(3000))")
                try scene.mount.lock(closing: protection)
                #expect(try database.ask("SELECT sum(i), max(x) FROM t;").contains("disk I/O error"))
                #expect(try database.ask("COMMIT;").contains("no transaction is active"))
                try expectCannotOpen(scene.path("data.db"))
                try scene.mount.unlock()
                #expect(try database.ask("SELECT count(*) FROM t;") == "100")
                try database.ask(insert(7))
                #expect(try database.ask("PRAGMA integrity_check;") == "ok")
                #expect(database.dialogue.end() == 1, "of its errors while locked; not killed")
                let after = try SQLite(scene.path("data.db"))
                #expect(try after.ask("PRAGMA integrity_check; SELECT count(*) FROM t;") == "ok\n107")
                #expect(after.dialogue.end() == 0)
            }
        }

        /// The mapped index of WAL mode is of class C, so a deep lock kills a program that looks into it. The next one
        /// finds all that was committed, and nothing of what was not.
        @Test(arguments: [
            ProtectionClass.complete, .completeUnlessOpen, .completeUntilFirstUserAuthentication,
        ])
        func aDeepLockInWALModeLosesNothing(_ protection: ProtectionClass) throws {
            try withScene(["--default-class", protection.rawValue]) { scene in
                for turn in 1...3 {
                    let database = try SQLite(scene.path("data.db"))
                    try database.ask(
                        "PRAGMA journal_mode=wal; CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, i INT, x TEXT);")
                    try database.ask("PRAGMA cache_size=2; \(insert(500))")
                    try database.ask("BEGIN; \(insert(3000))")
                    try scene.mount.lockDeeply()
                    #expect(throws: (any Error).self) { try database.ask("COMMIT; SELECT sum(i), max(x) FROM t;") }
                    #expect(database.dialogue.process.wait(seconds: 20) == 128 + SIGBUS, "turn \(turn)")
                    try expectCannotOpen(scene.path("data.db"))
                    try scene.mount.unlock()
                    let after = try SQLite(scene.path("data.db"))
                    #expect(try after.ask("PRAGMA integrity_check;") == "ok", "turn \(turn)")
                    #expect(try after.ask("SELECT count(*) FROM t;") == "\(500 * turn)", "turn \(turn)")
                    #expect(after.dialogue.end() == 0)
                }
            }
        }

        /// An open database of class B works while locked, transactions included; no other program can open it.
        @Test(arguments: ["wal", "delete"])
        func anOpenOneOfClassBGoesOn(_ mode: String) throws {
            try withScene(["--default-class", "complete-unless-open"]) { scene in
                let database = try SQLite(scene.path("data.db"))
                try database.ask("PRAGMA journal_mode=\(mode); CREATE TABLE t(id INTEGER PRIMARY KEY, i INT, x TEXT);")
                try database.ask("PRAGMA cache_size=2; \(insert(2000))")
                try database.ask("BEGIN; \(insert(1000))")
                try scene.mount.lockNow()
                #expect(try database.ask(insert(500)).isEmpty)
                #expect(try database.ask("COMMIT;").isEmpty)
                #expect(try database.ask("BEGIN; \(insert(9)) COMMIT; SELECT count(*) FROM t;") == "3509")
                try expectCannotOpen(scene.path("data.db"))
                try scene.mount.unlock()
                #expect(try database.ask("PRAGMA integrity_check; SELECT count(*) FROM t;") == "ok\n3509")
                #expect(database.dialogue.end() == 0)
            }
        }

        /// A transaction that the lock interrupts leaves no half.
        @Test func anInterruptedTransactionIsWholeOrAbsent() throws {
            try withScene(["--default-class", "complete"]) { scene in
                let database = try SQLite(scene.path("data.db"))
                try database.ask("PRAGMA journal_mode=delete; CREATE TABLE t(id INTEGER PRIMARY KEY, i INT, x TEXT);")
                try database.ask("PRAGMA cache_size=2;")
                try database.ask(insert(100))
                try database.ask("BEGIN; \(insert(3000))")
                try scene.mount.lockNow()
                #expect(try database.ask("COMMIT;").contains("rror"))
                try scene.mount.unlock()
                _ = database.dialogue.end()
                let after = try SQLite(scene.path("data.db"))
                #expect(try after.ask("PRAGMA integrity_check;") == "ok")
                let count = try after.ask("SELECT count(*) FROM t;")
                #expect(count == "100" || count == "3100", "\(count)")
                #expect(after.dialogue.end() == 0)
            }
        }
    }
}
