import Crypto
import Format
import Foundation
import Posix
import TestSupport
import Testing

@testable import Freshness

/// Bounds of blocks on their way to the file of marks, and back.
@Suite struct BlockMemoryTests {
    private static let volume = VolumeIdentifier(Array(16..<32))
    private static let key = MarkKey(0x9E37_79B9_7F4A_7C15, 7)
    private static let other = MarkKey(0x3C6E_F372_FE94_F82A, 8)

    private let folder = try! TemporaryFolder()
    private var path: String { folder.path("marks") }

    private static func cipher() throws -> DeterministicCipher {
        try DeterministicCipher(key: Secret(copying: unsafe [UInt8](repeating: 1, count: 64).span.bytes))
    }

    private func open() throws -> Marks {
        try Marks(path: Path(path), volume: Self.volume, cipher: Self.cipher())
    }

    private func mark(_ generation: UInt64, isGone: Bool = false) -> Mark {
        Mark(generation: generation, digest: 3, time: 1_750_000_000, protectionClass: .none, isGone: isGone)
    }

    private func bounds(_ blocks: Range<UInt64>, _ number: UInt64) -> BlockBounds {
        var bounds = BlockBounds()
        bounds.raise(blocks, to: number)
        return bounds
    }

    private func found(_ marks: borrowing Marks, _ keys: [MarkKey] = [key]) -> [UInt64]? {
        marks.bounds(of: 4..<8, under: keys)
    }

    /// The same order as of marks: they count at once, and are in the file only after a flush that succeeded.
    @Test func areWrittenAfterAFlush() throws {
        do {
            let marks = try open()
            marks.note(mark(9), of: Self.key, isOwn: true)
            marks.note(bounds(5..<7, 4), of: [Self.key, Self.other])
            // Nothing else is remembered of that name.
            #expect(found(marks, [Self.other]) == nil)
            #expect(found(marks) == [0, 4, 4, 0] && marks.waiting.any)
            try marks.save()
            let flush = try #require(marks.beginFlush())
            marks.note(bounds(4..<5, 6), of: [Self.key])
            #expect(found(marks) == [6, 4, 4, 0])
            marks.endFlush(flush, succeeded: false)
            try marks.save()
        }
        do {
            let marks = try open()
            #expect(!marks.hasBounds(of: Self.key))
            marks.note(mark(9), of: Self.key, isOwn: true)
            marks.note(bounds(5..<7, 4), of: [Self.key])
            try marks.flushAndSave()
            marks.note(bounds(5..<6, 8), of: [Self.key])
            #expect(found(marks) == [0, 8, 4, 0])
        }
        do {
            let marks = try open()
            #expect(found(marks) == [0, 4, 4, 0])
            marks.note(bounds(5..<6, 3), of: [Self.key])
            marks.note(bounds(7..<8, 5), of: [Self.key])
            try marks.flushAndSave()
        }
        #expect(found(try open()) == [0, 4, 4, 5])
    }

    /// What was forgotten stays so, and what is noted after that counts.
    @Test func areForgotten() throws {
        do {
            let marks = try open()
            marks.note(mark(9), of: Self.key, isOwn: true)
            marks.note(bounds(5..<7, 4), of: [Self.key])
            try marks.flushAndSave()
            marks.note(bounds(4..<5, 6), of: [Self.key])
            marks.forgetBounds(of: Self.key)
            #expect(found(marks) == nil)
            try marks.save()
        }
        do {
            let marks = try open()
            #expect(found(marks) == nil && marks[Self.key] == mark(9))
            marks.forgetBounds(of: Self.key)
            marks.note(bounds(6..<7, 10), of: [Self.key])
            try marks.flushAndSave()
        }
        do {
            let marks = try open()
            #expect(found(marks) == [0, 0, 10, 0])
            marks.note(mark(12, isGone: true), of: Self.key, isOwn: true)
            #expect(found(marks) == nil)
            try marks.flushAndSave()
        }
        #expect(found(try open()) == nil)
    }

    /// A file that gets another name keeps them.
    @Test func moveWithTheFile() throws {
        do {
            let marks = try open()
            marks.note(mark(9), of: Self.key, isOwn: true)
            marks.note(bounds(5..<7, 4), of: [Self.key])
            try marks.flushAndSave()
            marks.note(bounds(7..<8, 6), of: [Self.key])
            marks.note(mark(10), of: Self.other, isOwn: true)
            marks.copyBounds(from: Self.key, to: Self.other)
            marks.noteGone(Self.key, generation: 10, time: 5)
            #expect(found(marks, [Self.other]) == [0, 4, 4, 6] && found(marks) == nil)
            #expect(found(marks, [Self.key, Self.other]) == [0, 4, 4, 6])
            try marks.flushAndSave()
        }
        let marks = try open()
        #expect(found(marks, [Self.other]) == [0, 4, 4, 6] && found(marks) == nil)
    }

    /// A file that is written anew has the bounds that are durable, and no others; a backup has them too.
    @Test func areInAFileThatIsWrittenAnew() throws {
        do {
            let marks = try open()
            marks.note(mark(9), of: Self.key, isOwn: true)
            for round in 1...40 as ClosedRange<UInt64> {
                var many = BlockBounds()
                for block in 0..<200 as Range<UInt64> {
                    many.raise(block * 2..<block * 2 + 1, to: round * 1000 + block)
                }
                marks.note(many, of: [Self.key])
                try marks.flushAndSave()
            }
            marks.note(bounds(4..<8, 1 << 60), of: [Self.key])
            marks.note(mark(10), of: Self.other, isOwn: true)
            let flush = try #require(marks.beginFlush())
            try marks.save()
            marks.endFlush(flush, succeeded: false)
        }
        let size = try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
        #expect(size < 40 * (2 * 200 + MarkFile.batch + 400))
        let marks = try open()
        #expect(found(marks) == [40_002, 0, 40_003, 0])

        let backup = Path(folder.path("backup"))
        try MarkBackup.write(marks.table, to: backup, volume: Self.volume, cipher: Self.cipher())
        let table = try #require(try MarkBackup.read(backup, volume: Self.volume, cipher: Self.cipher()))
        try FileManager.default.removeItem(atPath: path)
        do {
            let new = try open()
            try new.merge(table)
        }
        #expect(found(try open()) == [40_002, 0, 40_003, 0])
    }

    /// The bounds of another version are not those of the one that is there.
    @Test func belongToAVersion() throws {
        let backup = Path(folder.path("backup"))
        do {
            let marks = try open()
            marks.note(mark(9), of: Self.key, isOwn: true)
            marks.note(bounds(5..<7, 4), of: [Self.key])
            try marks.flushAndSave()
            try MarkBackup.write(marks.table, to: backup, volume: Self.volume, cipher: Self.cipher())
            // Confirms more of the same version.
            #expect(marks.meet(mark(9), at: Self.key, isNoted: true) == nil && found(marks) == [0, 4, 4, 0])
            #expect(marks.meet(mark(12), at: Self.key, isNoted: true) == nil && found(marks) == nil)
            try marks.flushAndSave()
        }
        let table = try #require(try MarkBackup.read(backup, volume: Self.volume, cipher: Self.cipher()))
        do {
            let marks = try open()
            #expect(found(marks) == nil)
            try marks.merge(table)
            #expect(found(marks) == nil && marks[Self.key] == mark(12))
        }
        try FileManager.default.removeItem(atPath: path)
        do {
            let marks = try open()
            marks.note(mark(9), of: Self.key, isOwn: true)
            marks.note(bounds(4..<6, 3), of: [Self.key])
            try marks.flushAndSave()
            try marks.merge(table)
            #expect(found(marks) == [3, 4, 4, 0])
        }
        try FileManager.default.removeItem(atPath: path)
        let marks = try open()
        marks.note(mark(8), of: Self.key, isOwn: true)
        marks.note(bounds(4..<6, 3), of: [Self.key])
        try marks.flushAndSave()
        try marks.merge(table)
        #expect(found(marks) == [0, 4, 4, 0] && marks[Self.key] == mark(9))
    }
}
