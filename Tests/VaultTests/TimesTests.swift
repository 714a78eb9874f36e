import Format
import Posix
import Testing

@testable import Vault

/// What a copy by size and whole second of the modification time sees of a backing file, and what stat(2) shows.
@Suite struct TimesTests {
    /// What rsync compares, as FAT stores it.
    private struct Look: Hashable {
        let size: Int64
        let second: Int64

        init(_ status: FileStatus) {
            size = status.size
            second = status.modified.seconds / 2
        }
    }

    private let test: TestVault
    private let old = Timespec(seconds: 1_000_000_000, nanoseconds: 123_456_789)

    init() throws {
        test = try TestVault()
    }

    private func backing(_ name: Name) throws -> FileStatus {
        try test.store.status(of: test.vault.storedName(name, in: test.root).name, in: test.store.root)
    }

    private func look(_ name: Name) throws -> Look {
        Look(try backing(name))
    }

    private func shown(_ name: Name) throws -> Timespec {
        try test.vault.lookup(name, in: test.root).status.modified
    }

    private func old(_ name: Name) throws -> File {
        let file = try test.create(name)
        try file.write([UInt8](repeating: 1, count: 5000), at: 0)
        try file.setTimes(accessed: .keep, modified: .at(old))
        try file.synchronize(dataOnly: false)
        return file
    }

    /// Each of these changes writes the header alone, or late.
    @Test(arguments: ["link", "rename", "class", "mark", "checkpoint", "sync", "times", "same times", "close"])
    func aHeaderThatIsWrittenShowsInTheBackingFile(how: String) throws {
        let file = try old("file")
        var name: Name = "file"
        var seen: Set<Look> = [try look(name)]
        for turn in 0..<20 {
            switch how {
            case "link":
                try test.vault.link(name, in: test.root, file: file, to: Name(stringLiteral: "\(turn)"), in: test.root)
            case "rename":
                let other: Name = name == "file" ? "other" : "file"
                try test.rename(name, to: other)
                name = other
            case "class": try file.setClass(turn % 2 == 0 ? .complete : .completeUnlessOpen)
            case "mark":
                try file.setClass(.none)
                seen.insert(try look(name))
                try file.clearExplicitMark()
            case "checkpoint":
                try file.write([UInt8(turn)], at: 100)
                try file.setTimes(accessed: .keep, modified: .at(old))
                try test.vault.checkpoint()
            case "sync": try file.synchronize(dataOnly: false)
            case "times":
                try file.setTimes(accessed: .now, modified: .at(Timespec(seconds: 7, nanoseconds: Int64(turn))))
                #expect(try shown(name) == Timespec(seconds: 7, nanoseconds: Int64(turn)))
                try file.setTimes(accessed: .keep, modified: .at(old))
            case "same times": try file.setTimes(accessed: .keep, modified: .at(old))
            default:
                try file.write([UInt8](repeating: 2, count: turn + 1), at: file.length)
                try file.truncate(to: 5000)
                try file.setTimes(accessed: .keep, modified: .at(old))
                try file.persistLength()
                try test.vault.checkpoint()
            }
            #expect(seen.insert(try look(name)).inserted, "\(how), turn \(turn)")
            #expect(try shown(name) == old)
            #expect(try file.status().modified == old)
        }
        let readOnly = test.next(isReadOnly: true)
        #expect(try readOnly.lookup(name, in: readOnly.openRoot()).status.modified == old)
        let (vault, root) = try test.afterDeath()
        #expect(try vault.lookup(name, in: root).status.modified == old)
        #expect(try vault.openFile(name, in: root).status().modified == old)
    }

    /// However often a file is closed, its last stamp is a new second; and the stamp runs at most an hour ahead of the
    /// clock.
    @Test func manyClosesDoNotRunAway() throws {
        let file = try test.create("file")
        var seen: Set<Int64> = []
        for turn in 0..<4000 {
            try file.setTimes(accessed: .keep, modified: .at(old))
            seen.insert(try backing("file").modified.seconds)
            // More turns than the bound allows.
            if turn == 3999 { #expect(seen.count >= 1800) }
        }
        #expect(seen.max()! <= Timespec.now.seconds + 3602)
        try test.vault.checkpoint()
        #expect(seen.insert(try backing("file").modified.seconds).inserted)
        #expect(try shown("file") == old)
    }

    /// A copy sees a later change too, also if the daemon dies before it checkpoints.
    @Test(arguments: ["class", "mark", "close", "times"]) func aChangeOfAFileWithASpentStampIsSeen(how: String) throws {
        let file = try test.create("file")
        try file.setClass(.completeUnlessOpen)
        try file.write([1, 2, 3], at: 0)
        for _ in 0..<2000 { try file.setTimes(accessed: .keep, modified: .at(old)) }
        try test.vault.checkpoint()
        let before = try look("file")
        switch how {
        case "class": try file.setClass(.complete)
        case "mark": try file.clearExplicitMark()
        case "close":
            try file.write([4], at: 3)
            try file.truncate(to: 3)
            try file.persistLength()
        default: try file.setTimes(accessed: .keep, modified: .at(.now))
        }
        let (vault, root) = try test.afterDeath()
        guard case .file(let header) = try vault.lookup("file", in: root).details else { return #expect(Bool(false)) }
        #expect(header.protectionClass == (how == "class" ? .complete : .completeUnlessOpen))
        #expect(header.protection.isExplicit == (how != "mark"))
        let after = try look("file")
        #expect(after.size == before.size && after.second != before.second)
    }

    /// Also after a replay from a journal with a header that has no stamp yet.
    @Test func replayStampsAnew() throws {
        let file = try old("file")
        let before = try look("file")
        try file.write([2], at: 100)
        try file.setTimes(accessed: .keep, modified: .at(old))
        try file.persistLength()
        try file.synchronize(dataOnly: true)
        #expect(try look("file") == before, "it lies in the journal")
        let readOnly = test.next(isReadOnly: true)
        #expect(try readOnly.lookup("file", in: readOnly.openRoot()).status.modified == old)
        let (vault, root) = try test.afterDeath()
        #expect(try vault.lookup("file", in: root).status.modified == old)
        #expect(try vault.openFile("file", in: root).contents(200)[100] == 2)
        #expect(try look("file") != before)
        #expect(try backing("file").modified.nanoseconds == 0)
    }

    @Test func theTimeOfTheStampItselfCanBeSet() throws {
        let file = try old("file")
        for _ in 0..<3 {
            let stamp = try backing("file").modified
            try file.setTimes(accessed: .keep, modified: .at(stamp))
            #expect(try shown("file") == stamp)
            #expect(try backing("file").modified != stamp)
        }
    }

    /// A write shows its own time at once, in the second of the stamp too, and keeps it.
    @Test func aWriteShowsItsTime() throws {
        let file = try old("file")
        for offset in [100, 5000] as [UInt64] {
            let before = Timespec.now
            try file.write([3], at: offset)
            let time = try file.status().modified
            // The clock of the store may be a tick behind.
            #expect(time.seconds >= before.seconds - 1)
            try file.persistLength()
            #expect(try file.status().modified == time)
            try test.vault.checkpoint()
            #expect(try file.status().modified == time)
            #expect(try shown("file") == time)
        }
    }

    /// When a checkpoint truncates the backing file later, the time that stat(2) shows does not move.
    @Test func checkpointingATruncationDoesNotMoveTheTime() throws {
        let file = try old("file")
        try file.truncate(to: 100)
        let time = try file.status().modified
        #expect(time > old)
        try test.vault.checkpoint()
        #expect(try backing("file").size < 4096)
        #expect(try file.status().modified == time)
        let (vault, root) = try test.afterDeath()
        #expect(try vault.lookup("file", in: root).status.modified == time)
    }

    /// A file of the same history replaces another: without care, their stamps would be equal.
    @Test func aReplacementIsAnotherSecond() throws {
        _ = try old("file")
        var seen: Set<Look> = [try look("file")]
        for _ in 0..<20 {
            _ = try old("new")
            try test.rename("new", to: "file")
            #expect(seen.insert(try look("file")).inserted)
        }
    }

    /// Where a directory's record is a file, it always has the same size.
    @Test func anotherRecordIsAnotherSecond() throws {
        let test = try TestVault(recordKind: .file)
        let folder = try test.makeDirectory("folder")
        var seen: Set<Int64> = []
        for turn in 0..<5 {
            try test.vault.setDefaultClass(turn % 2 == 0 ? .none : .complete, isExplicit: true, of: folder)
            let record = try test.store.status(of: .directoryRecord, in: folder.descriptor)
            #expect(seen.insert(record.modified.seconds / 2).inserted)
        }
        try test.rename("folder", to: "other")
        let record = try test.store.status(of: .directoryRecord, in: folder.descriptor)
        #expect(seen.insert(record.modified.seconds / 2).inserted)
    }

    /// The journal always has the same size: only its time tells that there is more in it.
    @Test func eachFlushShowsInTheJournal() throws {
        let file = try old("file")
        func second() throws -> Int64 {
            try test.store.status(of: .journal, in: test.store.root).modified.seconds / 2
        }
        var seen: Set<Int64> = [try second()]
        for turn in 0..<20 {
            try file.write([UInt8(turn)], at: 100)
            // Not flushed: a copy may lack it, but the clock's second must not be stamped again with it.
            let unflushed = try second()
            try file.synchronize(dataOnly: true)
            #expect(seen.insert(try second()).inserted)
            seen.insert(unflushed)
        }
        try test.vault.checkpoint()
        seen.insert(try second())
        try test.vault.close()
        #expect(seen.insert(try second()).inserted)
    }
}
