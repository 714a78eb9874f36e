import Foundation
import TestSupport
import Testing

extension MountTests {
    /// Everything at once: programs write and read, folders are listed, and locks alternate with unlocks.
    @Suite struct Storm {
        /// One program with a file of its own, and the contents that it must have.
        private final class Worker {
            let probe: Probe
            let path: String
            var model: RandomOperations.Model
            var done = 0
            var refused = 0
            private var history: [String] = []

            init(_ path: String, seed: UInt64) throws {
                probe = try Probe()
                self.path = path
                model = RandomOperations.Model(numbers: SeededRandom(seed))
                try probe.open(0, path, "rw,creat").required()
            }

            /// The bytes read: all, or fewer if a lock came between two pages and refuses the later ones.
            private func check(_ first: [UInt8], at offset: Int, _ count: Int, step number: Int) throws {
                let expected = Array(model.bytes.dropFirst(offset).prefix(count))
                var (bytes, isRefused) = (first, false)
                while bytes.count < expected.count, !isRefused {
                    let rest = try probe.pread(0, offset + bytes.count, expected.count - bytes.count)
                    isRefused = rest == .noKey
                    guard rest.succeeded, try !rest.bytes().isEmpty else { break }
                    bytes += try rest.bytes()
                }
                guard bytes == expected || isRefused && expected.starts(with: bytes) else {
                    throw HarnessError(
                        "\(path): wrong bytes at \(offset), step \(number): \(bytes.difference(from: expected))"
                            + "; after \(history.suffix(12))")
                }
            }

            /// A call that may be refused while locked, and then has changed nothing; any other errno is a failure.
            func step(_ number: Int) throws {
                let offset = model.random(100_000)
                let patch = [UInt8](seed: number, count: 1 + model.random(20_000))
                let answer: Answer
                let call = model.random(10)
                switch call {
                case 0...4:
                    answer = try probe.pwrite(0, offset, patch)
                    // Of a write that takes several requests a part may be accepted.
                    if answer.succeeded { model.write(Array(patch.prefix(try answer.number())), at: offset) }
                case 5...7:
                    answer = try probe.pread(0, offset, patch.count)
                    if answer.succeeded { try check(try answer.bytes(), at: offset, patch.count, step: number) }
                case 8:
                    answer = try probe.ask("ftruncate", "0", "\(offset)")
                    if answer.succeeded { model.resize(to: offset) }
                default:
                    answer = try probe.fsync(0)
                }
                guard answer.succeeded || answer == .noKey else {
                    throw HarnessError("\(path): \(answer), step \(number)")
                }
                history.append("\(number): \(call) \(offset) \(patch.count) \(answer.succeeded)")
                done += answer.succeeded ? 1 : 0
                refused += answer.succeeded ? 0 : 1
            }
        }

        @Test func noByteIsLost() throws {
            let seed = UInt64(Date().timeIntervalSince1970) | 1
            try withScene(["--default-class", "complete"]) { scene in
                try scene.makeFolder("tree")
                try shell("for i in $(seq 1 50); do echo $i > f$i; done", in: scene.path("tree")).succeeded()
                let workers = try (0..<3).map { try Worker(scene.path("file-\($0)"), seed: seed &* UInt64($0 + 1) | 1) }
                let nowhere = try StreamFile()
                let latchkey = Built.latchkey
                let locker = try Child(
                    "sh",
                    [
                        "-euc",
                        """
                        for turn in 1 2 3 4 5 6 7 8 9 10 11 12; do
                            '\(latchkey)' lock --now '\(scene.mount.path)'
                            '\(latchkey)' unlock '\(scene.mount.path)' \
                                --passcode-file '\(scene.mount.vault.passcodeFile)'
                            sleep 0.2
                        done
                        """,
                    ], environment: scene.mount.vault.environment,
                    input: nowhere.descriptor, output: nowhere.descriptor, errors: nowhere.descriptor)
                let walker = try Child(
                    "sh",
                    [
                        "-c",
                        "while :; do ls -lR . > /dev/null; cat tree/* > /dev/null 2>&1; "
                            + "mv tree tree2; mv tree2 tree; done",
                    ],
                    directory: scene.mount.path,
                    input: nowhere.descriptor, output: nowhere.descriptor, errors: nowhere.descriptor)
                var number = 0
                let end = ContinuousClock.now + .seconds(60)
                while locker.wait(seconds: 0) == nil, ContinuousClock.now < end {
                    for worker in workers {
                        number += 1
                        try worker.step(number)
                    }
                }
                walker.send(SIGKILL)
                walker.wait()
                let said = String(decoding: nowhere.contents, as: UTF8.self)
                #expect(locker.wait(seconds: 5) == 0, "the locks: \(said.suffix(500))")
                #expect(try scene.mount.status().state == "unlocked")
                for worker in workers {
                    #expect(worker.done > 20 && worker.refused > 0, "\(worker.done) done, \(worker.refused) refused")
                    #expect(try worker.probe.contents(worker.path) == worker.model.bytes, "seed \(seed)")
                    worker.probe.process.send(SIGKILL)
                    worker.probe.process.wait()
                }
                let tree = try scene.probe.list(scene.mount.path).contains("tree") ? "tree" : "tree2"
                try shell("for i in $(seq 1 50); do test $(cat f$i) = $i; done", in: scene.path(tree)).succeeded()
            }
        }
    }
}

extension [UInt8] {
    /// Where they differ, for a message.
    fileprivate func difference(from expected: [UInt8]) -> String {
        guard self != expected else { return "none" }
        let differing = zip(self, expected).enumerated().filter { $1.0 != $1.1 }.map(\.offset)
        let (first, last) = (differing.first ?? 0, differing.last ?? 0)
        return "\(count) for \(expected.count) bytes, \(differing.count) others from \(first) to \(last): "
            + "\(self[first...].prefix(4)) for \(expected.dropFirst(first).prefix(4))"
    }
}
