import Foundation
import TestSupport
import Testing

extension MountTests {
    /// Thousands of random calls on a file, and on one that it is copied to and from, each answer compared with a model
    /// in memory (after fsx).
    @Suite struct RandomOperations {
        static let longest = 150_000

        struct Model {
            var bytes: [UInt8] = []
            var other: [UInt8] = []
            var numbers: SeededRandom

            mutating func random(_ bound: Int) -> Int {
                Int.random(in: 0..<bound, using: &numbers)
            }

            mutating func write(_ new: [UInt8], at offset: Int) {
                guard !new.isEmpty else { return }
                extend(to: offset + new.count)
                bytes.replaceSubrange(offset..<offset + new.count, with: new)
            }

            func part(_ offset: Int, _ count: Int) -> [UInt8] { Array(bytes.dropFirst(offset).prefix(count)) }

            /// Zeros, as far as there is anything.
            mutating func clear(_ offset: Int, _ count: Int) {
                let zeros = [UInt8](repeating: 0, count: part(offset, count).count)
                if !zeros.isEmpty { write(zeros, at: offset) }
            }

            mutating func extend(to size: Int) {
                if size > bytes.count {
                    bytes += [UInt8](repeating: 0, count: size - bytes.count)
                }
            }

            mutating func resize(to size: Int) {
                extend(to: size)
                bytes.removeLast(bytes.count - size)
            }
        }

        @Test(arguments: [1, 2, 3], [ProtectionClass.complete, .completeUnlessOpen])
        func agreeWithAModel(_ seed: UInt64, _ protection: ProtectionClass) throws {
            let seed = ProcessInfo.processInfo.environment["LATCHKEY_SEED"].flatMap { UInt64($0) } ?? seed
            let vault = try Vault(["--default-class", protection.rawValue])
            var model = Model(numbers: SeededRandom(seed))
            var history: [String] = []
            for session in 1...2 {
                try withScene(in: vault) { scene in
                    try open(scene)
                    #expect(try scene.contents("file") == model.bytes, "seed \(seed), session \(session)")
                    #expect(try scene.contents("other") == model.other, "seed \(seed), session \(session)")
                    for number in 1...250 {
                        do {
                            history.append(try step(session * 1000 + number, &model, scene))
                        } catch {
                            throw HarnessError("seed \(seed), step \(number): \(error)\n\(history.suffix(12))")
                        }
                    }
                    for handle in Handle.allCases { try scene.probe.close(handle.rawValue).required() }
                    #expect(try scene.contents("file") == model.bytes, "seed \(seed)")
                    #expect(try scene.contents("other") == model.other, "seed \(seed)")
                }
            }
            #expect(try vault.fsck().findings.isEmpty, "seed \(seed)")
        }

        /// The probe's handles: the file, the same for appends, and the one that it is copied to and from.
        enum Handle: Int, CaseIterable {
            case file, appending, other
        }

        func open(_ scene: Scene) throws {
            try scene.probe.open(Handle.file.rawValue, scene.path("file"), "rw,creat").required()
            try scene.probe.open(Handle.appending.rawValue, scene.path("file"), "w,append").required()
            try scene.probe.open(Handle.other.rawValue, scene.path("other"), "rw,creat").required()
        }
    }
}
