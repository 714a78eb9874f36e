import CrashSimulator
import Foundation
import Glibc
import TestSupport

/// Programs that write to a mount until its daemon is gone, and what their files must hold afterwards: several of
/// `load`, each in a folder of its own, and a database.
struct MixedLoad {
    private var oracles: [LoadOracle]
    private var database = DatabaseLoad()
    /// How many acts were acknowledged.
    private(set) var acknowledged = 0
    var transactions: Int { database.transactions }

    init(writers: Int) {
        oracles = Array(repeating: LoadOracle(), count: writers)
    }

    /// The running programs.
    final class Running {
        fileprivate let writers: [(process: Child, said: StreamFile)]
        fileprivate let database: (process: Child, said: StreamFile)
        /// Their output up to the last `listen`.
        fileprivate var texts: [String] = []
        fileprivate var rows = ""

        fileprivate init(writers: [(Child, StreamFile)], database: (Child, StreamFile)) {
            self.writers = writers
            self.database = database
        }

        /// Counts all their output until now as acknowledged.
        func listen() {
            texts = writers.map { String(decoding: $0.said.contents, as: UTF8.self) }
            rows = String(decoding: database.said.contents, as: UTF8.self)
        }

        /// The output of a program whose call was refused, at the last `listen`; nil if none was.
        var refusal: String? {
            texts.first { $0.contains("refused") } ?? (rows.lowercased().contains("error") ? rows : nil)
        }

        /// After the daemon's end.
        func end() {
            for child in writers.map(\.process) + [database.process] {
                if child.wait(seconds: 10) == nil { child.send(SIGKILL) }
                child.wait()
            }
        }
    }

    func start(in mount: MountedVault, seed: Int) throws -> Running {
        let writers = try oracles.indices.map { index in
            let said = try StreamFile()
            let folder = mount.file("load\(index)")
            unsafe mkdir(folder, 0o755)
            try run("sync", [mount.path]).succeeded()
            let process = try Child(
                Built.load, [folder, "\(seed * oracles.count + index + 1)"], input: said.descriptor,
                output: said.descriptor, errors: 2)
            return (process, said)
        }
        let rows = try StreamFile()
        return Running(writers: writers, database: (try database.start(in: mount, saying: rows), rows))
    }

    /// Their output says what must be found.
    mutating func follow(_ running: Running) throws {
        for (index, text) in running.texts.enumerated() {
            acknowledged += text.split(separator: "\n").count { $0 == "." }
            try oracles[index].follow(text)
        }
        database.follow(running.rows)
    }

    /// What is wrong with the contents of a mount. The next load continues from what is found.
    mutating func flaws(in mount: MountedVault) throws -> [String] {
        let copy = try TemporaryFolder()
        // By a separate program, which can be killed.
        let plain = copy.path("plain")
        let outcome = try attempt("cp", ["-r", mount.path, plain])
        var flaws = outcome.status == 0 ? [] : ["\(outcome)"]
        // Every file but the index of the WAL.
        try? FileManager.default.removeItem(atPath: plain + "/data.db-shm")
        for index in oracles.indices {
            flaws += try oracles[index].flaws(in: plain + "/load\(index)").map { "load\(index)/\($0)" }
        }
        return try flaws + database.flaws(in: plain)
    }
}
