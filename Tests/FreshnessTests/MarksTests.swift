import Crypto
import Format
import Foundation
import Posix
import TestSupport
import Testing

@testable import Freshness

/// The file of marks: written, read back, cut, damaged and replaced.
@Suite struct MarksTests {
    private static let volume = VolumeIdentifier(Array(16..<32))

    private let folder = try! TemporaryFolder()
    private var path: String { folder.path("marks") }

    private static func cipher(_ byte: UInt8 = 1) throws -> DeterministicCipher {
        try DeterministicCipher(key: Secret(copying: unsafe [UInt8](repeating: byte, count: 64).span.bytes))
    }

    private func open(_ byte: UInt8 = 1, volume: VolumeIdentifier = volume) throws -> Marks {
        try Marks(path: Path(path), volume: volume, cipher: Self.cipher(byte))
    }

    private func mark(_ generation: UInt64, isGone: Bool = false) -> Mark {
        Mark(generation: generation, digest: 3, time: 1_750_000_000, protectionClass: .none, isGone: isGone)
    }

    private func key(_ number: Int) -> MarkKey { MarkKey(UInt64(number) &* 0x9E37_79B9_7F4A_7C15, UInt32(number)) }

    private func write(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(filePath: path)) }

    private var bytes: [UInt8] { get throws { Array(try Data(contentsOf: URL(filePath: path))) } }

    private func note(_ marks: borrowing Marks, _ mark: Mark, _ number: Int) {
        marks.note(mark, of: key(number), isOwn: true)
    }

    /// A directory leaves its name with the generation that was seen there, if that is higher than its own.
    @Test func anOlderDirectoryThatIsRenamed() throws {
        let marks = try open()
        func record(_ generation: UInt64) -> DirectoryRecord {
            DirectoryRecord(directory: .zero, defaultClass: .none, isExplicit: true, generation: generation)
        }
        marks.note(Mark(record(9), time: 1), of: key(1), isOwn: true)
        marks.noteGone(record(3), of: key(1))
        let mark = try #require(marks[key(1)])
        #expect(mark.isGone && mark.generation == 9 && mark.kind == .directory)
    }

    /// Whose maker has the keys can give a value the key of a file.
    @Test func valuesAreNoFiles() throws {
        let marks = try open()
        marks.note(mark(5), of: key(1), isOwn: true)
        for key in [key(1), .journal] { marks.noteGone(value: key) }
        #expect(marks[key(1)] == mark(5) && marks[.journal] == nil)
        marks.noteGone(value: key(2))
        #expect(marks[key(2)]?.isGone == true)
        marks.note(mark(1), of: key(2), isOwn: true)
        #expect(marks[key(2)] == mark(1))
        marks.noteGone(value: key(3))
        marks.accept(value: key(3))
        #expect(marks[key(3)]?.isGone == false)
        marks.noteGone(value: key(3))
        #expect(marks[key(3)]?.isGone == true)
    }

    @Test func readsBackWhatItHasSaved() throws {
        do {
            let marks = try open()
            for number in 0..<10_000 { note(marks, mark(UInt64(number + 1)), number) }
            try marks.flushAndSave()
            note(marks, mark(77_777, isGone: true), 5)
            try marks.flushAndSave()
            // Nothing is older than what is remembered.
            note(marks, mark(3), 6)
        }
        let again = try open()
        #expect(again.size.count == 10_000)
        #expect(again[key(5)] == mark(77_777, isGone: true) && again[key(6)] == mark(7))
        let isAll = (6..<10_000).allSatisfy { again[key($0)] == mark(UInt64($0 + 1)) }
        #expect(isAll)
        #expect(again[key(10_000)] == nil)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    /// What another machine has seen is taken in where it is newer, and is in the file at once.
    @Test func takesInWhatIsNewer() throws {
        let other = folder.path("other")
        do {
            let marks = try Marks(path: Path(other), volume: Self.volume, cipher: Self.cipher(2))
            for (number, generation) in [(0, 5), (1, 9), (3, 7)] as [(Int, UInt64)] {
                note(marks, mark(generation), number)
            }
            note(marks, mark(6, isGone: true), 2)
            try MarkBackup.write(
                marks.table, to: Path(other + ".marks"), volume: Self.volume, cipher: Self.cipher(3))
        }
        let table = try #require(
            try MarkBackup.read(Path(other + ".marks"), volume: Self.volume, cipher: Self.cipher(3)))
        #expect(table.count == 4)
        #expect(try MarkBackup.read(Path(other + ".marks"), volume: Self.volume, cipher: Self.cipher()) == nil)
        do {
            let marks = try open()
            for (number, generation) in [(0, 6), (1, 8), (2, 6), (4, 1)] as [(Int, UInt64)] {
                note(marks, mark(generation), number)
            }
            try marks.flushAndSave()
            try marks.merge(table)
            #expect(throws: Errno.EROFS) { try Marks().merge(table) }
        }
        let again = try open()
        #expect((0..<5).map { again[key($0)] } == [mark(6), mark(9), mark(6, isGone: true), mark(7), mark(1)])
    }

    @Test func onlyNewerMarksReplaceOthers() throws {
        let marks = try open()
        note(marks, mark(5), 1)
        note(marks, mark(5, isGone: true), 1)
        #expect(marks[key(1)] == mark(5, isGone: true))
        note(marks, mark(5), 1)
        #expect(marks[key(1)] == mark(5, isGone: true))
        note(marks, mark(6), 1)
        #expect(marks[key(1)] == mark(6))
        // A thief of the keys could make it.
        note(marks, mark(1 << 62 + 1), 1)
        #expect(marks[key(1)] == mark(6))
    }

    @Test func namesThatAreLost() throws {
        let marks = try open()
        note(marks, mark(1), 0)
        try marks.flushAndSave()
        note(marks, mark(2), 1)
        marks.noteGone(key(0), generation: 2, time: 1_750_000_000)
        #expect(marks[key(0)] == mark(2, isGone: true))
        // It had the name once more, and has lost it again.
        marks.noteGone(key(0), generation: 5, time: 1_750_000_000)
        #expect(marks[key(0)] == mark(5, isGone: true))
        // What came and went between two flushes may be in a copy, too.
        marks.noteGone(key(1), generation: 2, time: 1_750_000_000)
        #expect(marks[key(1)] == mark(2, isGone: true) && marks[key(2)] == nil)
    }

    /// As long as a file could not be flushed alone, a flush of all proves nothing.
    @Test func failedFlushes() throws {
        do {
            let marks = try open()
            note(marks, mark(1), 0)
            marks.flushFailed(by: 1)
            try marks.flushAndSave()
        }
        do {
            let marks = try open()
            #expect(marks.size.count == 0)
            note(marks, mark(1), 0)
            marks.flushFailed(by: 1)
            try marks.flushAndSave()
            marks.flushFailed(by: -1)
            try marks.flushAndSave()
        }
        let again = try open()
        #expect(again.size.count == 1)
    }

    /// The file never knows of what no flush has made durable.
    @Test func onlyWhatIsDurableIsSaved() throws {
        func saved() throws -> [Mark?] {
            let copy = folder.path("copy")
            try? FileManager.default.removeItem(atPath: copy)
            try FileManager.default.copyItem(atPath: path, toPath: copy)
            let marks = try Marks(path: Path(copy), volume: Self.volume, cipher: Self.cipher())
            return (0..<2).map { marks[key($0)] }
        }
        let marks = try open()
        note(marks, mark(1), 0)
        try marks.save()
        #expect(try saved() == [nil, nil])
        let flush = try #require(marks.beginFlush())
        note(marks, mark(2), 0)
        note(marks, mark(1), 1)
        try marks.save()
        #expect(try saved() == [nil, nil])
        marks.endFlush(flush, succeeded: true)
        try marks.save()
        #expect(try saved() == [mark(1), nil])
        // A file that is written anew knows no more.
        for number in 2..<5000 {
            note(marks, mark(1), number)
            note(marks, mark(1, isGone: true), number)
        }
        let failed = try #require(marks.beginFlush())
        note(marks, mark(3), 0)
        marks.endFlush(failed, succeeded: false)
        var sizes = [0, try bytes.count]
        while sizes[1] >= sizes[0] {
            for number in 10..<5000 { note(marks, mark(UInt64(marks[key(number)]!.generation) + 1), number) }
            let other = try #require(marks.beginFlush())
            note(marks, mark(marks[key(0)]!.generation + 1), 0)
            marks.endFlush(other, succeeded: true)
            try marks.save()
            sizes = [sizes[1], try bytes.count]
            try #require(sizes[1] < 5 << 20)
        }
        #expect(try saved()[0]?.generation == marks[key(0)]!.generation - 1)
        #expect(try saved()[1] == mark(1))
        try marks.flushAndSave()
        #expect(try saved()[0] == marks[key(0)])
    }

    @Test func forgetsAll() throws {
        do {
            let marks = try open()
            note(marks, mark(5), 1)
            try marks.flushAndSave()
            note(marks, mark(5), 2)
            let flush = try #require(marks.beginFlush())
            try marks.forgetAll()
            marks.endFlush(flush, succeeded: true)
            #expect(marks.size.count == 0 && marks[key(1)] == nil)
            note(marks, mark(3), 1)
            try marks.flushAndSave()
        }
        let again = try open()
        #expect(again.size.count == 1 && again[key(1)] == mark(3))
    }

    /// A file of three batches with five marks each.
    private func threeBatches() throws -> [UInt8] {
        let marks = try open()
        for batch in 0..<3 {
            for number in 0..<5 { note(marks, mark(9), batch * 5 + number) }
            try marks.flushAndSave()
        }
        return try bytes
    }

    /// Whatever is left of the file, what can be read of it is right, and it can be written to again.
    @Test func cutAnywhere() throws {
        let whole = try threeBatches()
        for count in 0..<whole.count {
            try write(Array(whole.prefix(count)))
            let marks = try open()
            let batches = count < 64 ? 0 : (count - 64) / (8 + 16 + 5 * 40)
            #expect(marks.size.count == 5 * batches, "\(count) bytes")
            if count % 29 == 0 {
                note(marks, mark(4), 99)
                try marks.flushAndSave()
                #expect(throws: Posix.Errno.EWOULDBLOCK) {
                    _ = try Marks(
                        path: Path(path), volume: Self.volume, cipher: Self.cipher(), patience: .milliseconds(1))
                }
                _ = marks.size
            }
        }
        let last = try open()
        #expect(last.size.count == 10)
    }

    /// Each byte in turn: at the least, what lies before the damage is read, and never anything that was not written.
    @Test func damagedAnywhere() throws {
        let whole = try threeBatches()
        for index in whole.indices {
            var damaged = whole
            damaged[index] ^= 0x41
            try write(damaged)
            let marks = try open()
            let before = index < 64 ? 0 : (index - 64) / (8 + 16 + 5 * 40)
            #expect(marks.size.count == 5 * before, "byte \(index)")
            let isRight = (0..<5 * before).allSatisfy { marks[key($0)] == mark(9) }
            #expect(isRight)
        }
    }

    /// Batches that are moved, repeated, left out, or of another file, volume or key.
    @Test func movedBatches() throws {
        do {
            let marks = try open()
            for number in 0..<3 {
                note(marks, mark(9), number)
                try marks.flushAndSave()
            }
        }
        let whole = try bytes
        let size = 8 + 16 + 40
        let batches = (0..<3).map { Array(whole[64 + $0 * size..<64 + ($0 + 1) * size]) }
        let head = Array(whole.prefix(64))
        func count(_ bytes: [UInt8]) throws -> Int {
            try write(bytes)
            return try open().size.count
        }
        #expect(try count(head + batches[0] + batches[1] + batches[2]) == 3)
        #expect(try count(head + batches[1]) == 0)
        #expect(try count(head + batches[0] + batches[2]) == 1)
        #expect(try count(head + batches[0] + batches[0]) == 1)
        var other = head
        other[40] ^= 1
        #expect(try count(other + batches[0]) == 0)
        try write(whole)
        do {
            let elsewhere = try open(2)
            #expect(elsewhere.size.count == 0)
        }
        try write(whole)
        let elsewhere = try open(volume: VolumeIdentifier(Array(0..<16)))
        #expect(elsewhere.size.count == 0)
    }

    /// A file that is written to for ever does not grow for ever, and nothing is lost when it is written anew.
    @Test func isCompacted() throws {
        let rounds = 400
        do {
            let marks = try open()
            for round in 1...rounds {
                for number in 0..<100 { note(marks, mark(UInt64(round)), number) }
                note(marks, mark(1), 1000 + round)
                try marks.flushAndSave()
            }
            #expect(try bytes.count < (2 * 500 + 2 * 4096) * 60)
        }
        let again = try open()
        #expect(again.size.count == 100 + rounds)
        let isAll = (0..<100).allSatisfy { again[key($0)] == mark(UInt64(rounds)) }
        #expect(isAll)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["marks"])
    }

    /// What cannot be written now is written later: the folder is a file system of its own, which is full.
    @Test(.enabled(if: geteuid() == 0)) func aFullFolder() throws {
        let small = folder.path("small")
        try FileManager.default.createDirectory(atPath: small, withIntermediateDirectories: false)
        let mounted = unsafe mount("none", small, "tmpfs", 0, "size=64k")
        try #require(mounted == 0)
        defer { _ = unsafe umount2(small, Int32(MNT_DETACH)) }
        let marks = try Marks(path: Path(small + "/marks"), volume: Self.volume, cipher: Self.cipher())
        note(marks, mark(1), 1)
        try marks.flushAndSave()
        try Data(count: 40 << 10).write(to: URL(filePath: small + "/filler"))
        for number in 2..<1000 { note(marks, mark(2), number) }
        #expect(throws: Posix.Errno.ENOSPC) { try marks.flushAndSave() }
        #expect(throws: Posix.Errno.ENOSPC) { try marks.save() }
        try FileManager.default.removeItem(atPath: small + "/filler")
        try marks.save()
        try FileManager.default.copyItem(atPath: small + "/marks", toPath: path)
        let again = try open()
        #expect(again.size.count == 999 && again[key(999)] == mark(2) && again[key(1)] == mark(1))
    }

    @Test(arguments: ["a folder", "a link", "a FIFO"]) func somethingElse(of: String) throws {
        switch of {
        case "a folder": try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        case "a link": try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/etc/passwd")
        default:
            let made = unsafe mkfifo(path, 0o600)
            #expect(made == 0)
        }
        #expect(throws: Posix.Errno.self) { try open() }
    }

    /// Another name of the file may be that of a backup, or of a file that is none of ours: it is not written to.
    @Test(arguments: [false, true]) func anotherName(isOurs: Bool) throws {
        if isOurs {
            let marks = try open()
            note(marks, mark(1), 1)
            try marks.flushAndSave()
        } else {
            try write([1, 2, 3])
        }
        let before = try bytes
        try FileManager.default.linkItem(atPath: path, toPath: folder.path("other"))
        do {
            let marks = try open()
            note(marks, mark(2), 2)
            try marks.flushAndSave()
        }
        let other = Array(try Data(contentsOf: URL(filePath: folder.path("other"))))
        #expect(other == before)
        let again = try open()
        #expect(again[key(2)] == mark(2) && again[key(1)] == (isOurs ? mark(1) : nil))
    }

    /// A file that is removed, cut or replaced while it is in use is written anew, whole.
    @Test(arguments: ["removed", "cut", "replaced"]) func losesItsFile(how: String) throws {
        do {
            let marks = try open()
            note(marks, mark(1), 1)
            try marks.flushAndSave()
            switch how {
            case "removed": try FileManager.default.removeItem(atPath: path)
            case "cut": unsafe truncate(path, 70)
            default:
                try FileManager.default.removeItem(atPath: path)
                try write([UInt8](repeating: 9, count: 5000))
            }
            note(marks, mark(2), 2)
            try marks.flushAndSave()
        }
        let again = try open()
        #expect(again[key(1)] == mark(1) && again[key(2)] == mark(2))
    }

    /// A vault that was erased leaves no memory, also if the daemon comes to write once more.
    @Test func isNotMadeAnew() throws {
        let marks = try Marks(
            path: Path(path), volume: Self.volume, cipher: Self.cipher(), isWanted: { false })
        note(marks, mark(1), 1)
        try marks.flushAndSave()
        #expect(FileManager.default.fileExists(atPath: path))
        try FileManager.default.removeItem(atPath: path)
        note(marks, mark(2), 1)
        try marks.flushAndSave()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    /// Something else of that name gives way, and is not written to.
    @Test func anotherFile() throws {
        for contents in [Array("LKMARKS1".utf8), [UInt8](repeating: 7, count: 64), [UInt8](repeating: 7, count: 900)] {
            try write(contents)
            let marks = try open()
            #expect(marks.size.count == 0)
            note(marks, mark(4), 1)
            try marks.flushAndSave()
            #expect(try bytes.count == 64 + 8 + 16 + 40)
        }
    }
}

extension Marks {
    /// As if the whole store had been flushed.
    func flushAndSave() throws(Posix.Errno) {
        if let flush = beginFlush() { endFlush(flush, succeeded: true) }
        try save()
    }
}
