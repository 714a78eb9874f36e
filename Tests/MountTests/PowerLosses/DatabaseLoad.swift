import Foundation
import TestSupport

/// Transactions of SQLite in a mount, by a program that prints each one that is committed.
struct DatabaseLoad {
    /// The last transaction that was acknowledged or found.
    private(set) var transactions = 0

    func start(in mount: MountedVault, saying rows: StreamFile) throws -> Child {
        let script = try StreamFile(holding: inserts)
        return try Child(
            "sqlite3", ["-batch", "-bail", mount.file("data.db")], input: script.descriptor, output: rows.descriptor,
            errors: rows.descriptor)
    }

    private var inserts: [UInt8] {
        let start =
            "PRAGMA journal_mode=wal; PRAGMA synchronous=full; PRAGMA wal_autocheckpoint=30;\n"
            + "CREATE TABLE IF NOT EXISTS t(tx INTEGER PRIMARY KEY, x BLOB);\n"
        let inserts = (transactions + 1...transactions + 20_000).map { number in
            "INSERT INTO t VALUES (\(number), randomblob(\(number * 37 % 1000))); SELECT 'done \(number)';"
        }
        return Array((start + inserts.joined(separator: "\n")).utf8)
    }

    mutating func follow(_ text: String) {
        let last = text.split(separator: "\n").last { $0.hasPrefix("done ") }.flatMap { Int($0.dropFirst(5)) }
        transactions = last ?? transactions
    }

    /// All acknowledged transactions are there, and perhaps one more; the next load continues from those that are
    /// found.
    mutating func flaws(in folder: String) throws -> [String] {
        guard FileManager.default.fileExists(atPath: folder + "/data.db") else {
            return transactions == 0 ? [] : ["the database is gone"]
        }
        let inquiry = "PRAGMA integrity_check; SELECT count(*), ifnull(max(tx), 0) FROM t;"
        let answer = try attempt("sqlite3", ["-batch", folder + "/data.db", inquiry])
        if transactions == 0, answer.errors.contains("no such table") { return [] }
        let lines = answer.text.split(separator: "\n")
        let counts = lines.last?.split(separator: "|").compactMap { Int($0) } ?? []
        guard lines.count == 2, lines[0] == "ok", counts.count == 2, counts[0] == counts[1],
            transactions...transactions + 1 ~= counts[1]
        else { return ["the database after \(transactions) transactions: \(answer)"] }
        transactions = counts[1]
        return []
    }
}
