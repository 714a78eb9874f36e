import Foundation
import Testing

extension MountTests {
    /// Thousands of calls chosen by chance on one file, each answer compared with a model in memory (after fsx).
    @Suite struct RandomOperations {
        private static let longest = 150_000

        struct Model {
            var bytes: [UInt8] = []
            var state: UInt64

            mutating func random(_ bound: Int) -> Int {
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                return Int(state % UInt64(bound))
            }

            mutating func write(_ new: [UInt8], at offset: Int) {
                extend(to: offset + new.count)
                bytes.replaceSubrange(offset..<offset + new.count, with: new)
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
            try withScene(["--default-class", protection.rawValue]) { scene in
                var model = Model(state: seed &* 0x9e37_79b9 | 1)
                try scene.probe.open(0, scene.path("file"), "rw,creat").required()
                var history: [String] = []
                for number in 1...500 {
                    do {
                        history.append(try step(number, &model, scene))
                    } catch {
                        throw HarnessError("seed \(seed), step \(number): \(error)\n\(history.suffix(12))")
                    }
                }
                try scene.probe.close(0).required()
                #expect(try scene.contents("file") == model.bytes, "seed \(seed)")
            }
        }

        private func step(_ number: Int, _ model: inout Model, _ scene: Scene) throws -> String {
            let probe = scene.probe
            let offset = model.random(4) == 0 ? model.random(30) * 4096 : model.random(Self.longest - 20_000)
            let count = model.random(3) == 0 ? 4096 * (1 + model.random(4)) : 1 + model.random(20_000)
            let patch = [UInt8](seed: number, count: count)
            switch model.random(20) {
            case 0...5:
                try probe.pwrite(0, offset, patch).required("pwrite")
                model.write(patch, at: offset)
                return "pwrite \(offset) \(count)"
            case 6...10:
                let expected = Array(model.bytes.dropFirst(offset).prefix(count))
                guard try probe.pread(0, offset, count).bytes() == expected else {
                    throw HarnessError("pread \(offset) \(count): other bytes than were written")
                }
                return "pread \(offset) \(count)"
            case 11, 12:
                try probe.ask("ftruncate", "0", "\(offset)").required("ftruncate")
                model.resize(to: offset)
                return "ftruncate \(offset)"
            case 13, 14:
                return try throughAMapping(offset, patch, &model, probe)
            case 15:
                let mode = ["0", "keep", "zero"][model.random(3)]
                try probe.ask("fallocate", "0", mode, "\(offset)", "\(count)").required("fallocate")
                if mode != "keep" { model.extend(to: offset + count) }
                if mode == "zero" { model.write([UInt8](repeating: 0, count: count), at: offset) }
                return "fallocate \(mode) \(offset) \(count)"
            case 16:
                try probe.ask("fallocate", "0", "punch", "\(offset)", "\(count)").required("punch")
                let end = min(model.bytes.count, offset + count)
                if offset < end { model.write([UInt8](repeating: 0, count: end - offset), at: offset) }
                return "punch \(offset) \(count)"
            case 17:
                try probe.fsync(0).required("fsync")
                guard try probe.ask("lseek", "0", "0", "end").number() == model.bytes.count else {
                    throw HarnessError("SEEK_END: not \(model.bytes.count)")
                }
                guard offset < model.bytes.count else { return "fsync, SEEK_END" }
                let data = try probe.ask("lseek", "0", "\(offset)", "data")
                let end = data.succeeded ? try data.number() : model.bytes.count
                guard end >= offset, model.bytes[offset..<end].allSatisfy({ $0 == 0 }),
                    data.succeeded || data == .refused("ENXIO")
                else { throw HarnessError("SEEK_DATA \(offset): \(data)") }
                return "fsync, SEEK_END, SEEK_DATA \(offset)"
            case 18:
                try probe.close(0).required("close")
                try probe.open(0, scene.path("file"), "rw").required("open")
                return "close, open"
            default:
                guard model.random(4) == 0 else { return "-" }
                try scene.mount.lockNow()
                try scene.mount.unlock()
                return "lock, unlock"
            }
        }

        private func throughAMapping(_ offset: Int, _ patch: [UInt8], _ model: inout Model, _ probe: Probe) throws
            -> String
        {
            guard offset < model.bytes.count else { return "-" }
            let patch = Array(patch.prefix(model.bytes.count - offset))
            try probe.map(0, 0, model.bytes.count).required("mmap")
            guard try probe.touch(0, 0, model.bytes.count).bytes() == model.bytes else {
                throw HarnessError("a mapping shows other bytes than were written")
            }
            try probe.store(0, offset, patch).required("store")
            try probe.ask("munmap", "0").required("munmap")
            model.write(patch, at: offset)
            return "store \(offset) \(patch.count)"
        }
    }
}
