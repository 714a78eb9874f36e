import CrashSimulator
import Foundation
import Testing

extension MountTests {
    /// The daemon is killed at random moments under load, and the vault mounted again: as after a power cut, what was
    /// synced is there, and nothing is broken. LATCHKEY_KILLS says how often.
    @Suite struct Kills {
        @Test func underLoad() throws {
            let times = ProcessInfo.processInfo.environment["LATCHKEY_KILLS"].flatMap { Int($0) } ?? 20
            var vault = try Vault()
            let copy = try TemporaryFolder()
            var random = SeededRandom(11)
            var oracle = LoadOracle()
            var transactions = 0
            var acknowledged = 0
            var flawed = 0
            var refused = 0
            for turn in 0...times {
                let mount = try MountedVault(vault)
                defer { mount.detach() }
                var flaws = try self.flaws(in: mount, copy, &oracle)
                flaws += try databaseFlaws(in: copy.path("plain"), &transactions)
                if !flaws.isEmpty {
                    flawed += 1
                    print("crash: kill \(turn): \(flaws.prefix(5).joined(separator: "; "))")
                    // Anew: what is damaged stays damaged.
                    (vault, oracle, transactions) = (try Vault(), LoadOracle(), 0)
                    continue
                }
                // The last turn only looks.
                if turn == times { break }

                let said = try StreamFile()
                let load = try Child(
                    Built.load, [mount.path, "\(turn + 1)"], input: said.descriptor, output: said.descriptor, errors: 2)
                let rows = try StreamFile()
                let script = try StreamFile(holding: Self.inserts(from: transactions))
                let database = try Child(
                    "sqlite3", ["-batch", mount.file("data.db")], input: script.descriptor, output: rows.descriptor,
                    errors: rows.descriptor)
                usleep(UInt32.random(in: 20_000...400_000, using: &random))
                // Once the daemon is dead, the kernel answers EIO to what it was in the middle of handing over.
                let wasRefused = String(decoding: said.contents, as: UTF8.self).contains("refused")
                mount.kill()
                for child in [load, database] where child.wait(seconds: 10) == nil { child.send(SIGKILL) }
                load.wait()
                database.wait()
                let text = String(decoding: said.contents, as: UTF8.self)
                acknowledged += text.split(separator: "\n").count { $0 == "." }
                try oracle.follow(text)
                if wasRefused {
                    refused += 1
                    print("crash: kill \(turn): \(text.suffix(300))\n\(mount.messages.suffix(400))")
                }
                transactions = Self.lastTransaction(in: String(decoding: rows.contents, as: UTF8.self)) ?? transactions
            }
            print(
                "crash: kill -9 under load: \(times) kills, \(acknowledged) acts and \(transactions) transactions"
                    + " acknowledged, \(flawed) mounts violate, \(refused) loads were refused")
            #expect(acknowledged > times && transactions > times, "there was no load")
            #expect(flawed + refused == 0)
        }

        /// Reads all of the mount by a program, which can be killed.
        private func flaws(
            in mount: MountedVault, _ copy: TemporaryFolder, _ oracle: inout LoadOracle
        ) throws -> [String] {
            let plain = copy.path("plain")
            try? FileManager.default.removeItem(atPath: plain)
            // All but the index of the WAL.
            let outcome = try run("cp", ["-r", mount.path, plain])
            try? FileManager.default.removeItem(atPath: plain + "/data.db-shm")
            return (outcome.status == 0 ? [] : ["\(outcome)"]) + (try oracle.flaws(in: plain))
        }

        // MARK: SQLite

        private static func inserts(from first: Int) -> [UInt8] {
            let start =
                "PRAGMA journal_mode=wal; PRAGMA synchronous=full; PRAGMA wal_autocheckpoint=30;\n"
                + "CREATE TABLE IF NOT EXISTS t(tx INTEGER PRIMARY KEY, x BLOB);\n"
            let inserts = (first + 1...first + 5000).map { number in
                "INSERT INTO t VALUES (\(number), randomblob(\(number * 37 % 3000))); SELECT 'done \(number)';"
            }
            return Array((start + inserts.joined(separator: "\n")).utf8)
        }

        private static func lastTransaction(in text: String) -> Int? {
            text.split(separator: "\n").last { $0.hasPrefix("done ") }.flatMap { Int($0.dropFirst(5)) }
        }

        /// Those acknowledged are there, and perhaps one more; what is there is what the next load goes on from.
        private func databaseFlaws(in folder: String, _ transactions: inout Int) throws -> [String] {
            guard FileManager.default.fileExists(atPath: folder + "/data.db") else {
                return transactions == 0 ? [] : ["the database is gone"]
            }
            let inquiry = "PRAGMA integrity_check; SELECT count(*), ifnull(max(tx), 0) FROM t;"
            let answer = try run("sqlite3", ["-batch", folder + "/data.db", inquiry])
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
}
