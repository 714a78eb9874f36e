import Format
import Foundation
import Freshness
import Posix
import TestSupport
import Testing

@testable import Vault

/// Old blocks that are put back under the newest header.
@Suite struct OlderBlocksTests {
    private static let size: UInt64 = 4096
    private static func bytes(_ byte: UInt8, _ blocks: UInt64) -> [UInt8] {
        [UInt8](repeating: byte, count: Int(blocks * size))
    }

    let machine: TestMachine

    /// A file of six blocks of ones.
    init() throws {
        machine = try TestMachine()
        try machine.session { session in
            let file = try session.open("file", making: true)
            try file.write(Self.bytes(1, 6), at: 0)
            try file.persistLength()
        }
    }

    /// How the blocks 1 to 3 of the file become others; the file stays as long as it was.
    enum Change: CaseIterable {
        case inPlace, inTheJournal, aPart, aNewFile, truncated, punched, punchedInTheJournal, shrunk
        case shrunkInTheJournal, renamed, linked, hole, holeInTheJournal

        func make(_ session: TestMachine.Session) throws {
            let file = try session.open("file")
            let (size, two) = (OlderBlocksTests.size, OlderBlocksTests.bytes(2, 3))
            switch self {
            case .inPlace: try file.write(two, at: size)
            case .inTheJournal:
                for _ in 0..<2 {
                    try file.write(two, at: size)
                    try file.synchronize(dataOnly: true)
                }
            case .aPart: for block in 1...3 as ClosedRange<UInt64> { try file.write([2, 2], at: block * size) }
            case .aNewFile:
                try file.truncate(to: 0)
                try file.write(OlderBlocksTests.bytes(2, 6), at: 0)
            case .truncated:
                try file.truncate(to: size)
                try file.write(OlderBlocksTests.bytes(2, 5), at: size)
            case .punched, .punchedInTheJournal:
                if self == .punchedInTheJournal { try file.synchronize(dataOnly: true) }
                try file.punch(size..<4 * size)
                try file.write(two, at: size)
            case .hole, .holeInTheJournal:
                if self == .holeInTheJournal { try file.synchronize(dataOnly: true) }
                try file.punch(size..<4 * size)
            case .shrunk, .shrunkInTheJournal:
                if self == .shrunkInTheJournal { try file.synchronize(dataOnly: true) }
                try file.truncate(to: size + 10)
                try file.write(two, at: size)
                try file.truncate(to: 6 * size)
            case .renamed:
                try file.write(two, at: size)
                try file.persistLength()
                try session.rename("file", to: "other")
                try session.rename("other", to: "file")
            case .linked:
                try file.write(two, at: size)
                try file.persistLength()
                try session.vault.link("file", in: session.root, file: file, to: "other", in: session.root)
            }
            try file.persistLength()
        }
    }

    /// What is in the first and third of those blocks then.
    private static func left(by change: Change) -> UInt8 {
        change == .hole || change == .holeInTheJournal ? 0 : 2
    }

    private static func first(ofBlock block: UInt64, in session: TestMachine.Session) throws -> UInt8? {
        var byte: [UInt8] = [0]
        let file = try session.open("file")
        var elements = byte.mutableSpan
        var span = unsafe elements.mutableBytes
        let count = try file.read(into: &span, at: block * size)
        return count == 1 ? byte[0] : nil
    }

    private func expect(
        _ bytes: [UInt8], in session: TestMachine.Session, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let found = try (0..<UInt64(bytes.count)).map { try Self.first(ofBlock: $0, in: session) }
        #expect(found == bytes, sourceLocation: sourceLocation)
    }

    @Test(arguments: Change.allCases) func areFound(change: Change) throws {
        let before = try machine.copy()
        try machine.session { try change.make($0) }
        let after = try machine.copy()
        try machine.session { session in
            for block in 1...3 as ClosedRange<UInt64> {
                let found = try Self.first(ofBlock: block, in: session)
                #expect(found == Self.left(by: change))
            }
            #expect(session.watch.count == 0)
        }
        try machine.putBackBlock(2, of: "file", from: before)
        try machine.session { session in
            let found = try Self.first(ofBlock: 2, in: session)
            #expect(found == 1 && session.watch.count == 1)
            let stale = try session.vault.staleness(of: "file", in: session.root)
            #expect(stale?.kind == .block(2) && stale?.verdict == .older)
        }
        try machine.session(.refuse) { session in
            for block in [1, 3] as [UInt64] {
                let found = try Self.first(ofBlock: block, in: session)
                #expect(found == Self.left(by: change))
            }
            #expect(throws: VaultError.stale("an older block than this machine has seen")) {
                try Self.first(ofBlock: 2, in: session)
            }
            #expect(throws: VaultError.stale("an older block than this machine has seen")) {
                try session.open("file").write([7], at: 2 * Self.size + 100)
            }
            try session.vault.accept("file", in: session.root)
            let found = try Self.first(ofBlock: 2, in: session)
            #expect(found == 1)
            #expect(session.watch.count == 0)
        }
        try machine.session(.refuse) { session in
            let found = try Self.first(ofBlock: 2, in: session)
            #expect(found == 1)
            #expect(session.watch.count == 0)
        }
        // The newest of all is older than what was accepted.
        try machine.putBack("file", from: after)
        try machine.session { session in
            _ = try Self.first(ofBlock: 2, in: session)
            #expect(session.watch.count == 1)
        }
    }

    /// Two versions of one session, with no header between them.
    @Test func ofTheSameSession() throws {
        var between = ""
        try machine.session { session in
            let file = try session.open("file")
            try file.write(Self.bytes(2, 1), at: 2 * Self.size)
            try file.write(Self.bytes(1, 1), at: 7 * Self.size)
            try file.write(Self.bytes(2, 1), at: 7 * Self.size)
            between = try machine.copy()
            for block in [2, 7] as [UInt64] { try file.write(Self.bytes(3, 1), at: block * Self.size) }
        }
        try machine.putBackBlock(7, of: "file", from: between)
        try machine.session { session in
            let found = try Self.first(ofBlock: 7, in: session)
            #expect(found == 2 && session.watch.count == 1)
        }
    }

    /// A program writes a part of a block that was put back while the file is open.
    @Test func whileTheFileIsOpen() throws {
        try machine.session(.refuse) { session in
            let file = try session.open("file")
            try file.write(Self.bytes(1, 1), at: 7 * Self.size)
            try file.write(Self.bytes(2, 1), at: 7 * Self.size)
            let between = try machine.copy()
            try file.write(Self.bytes(3, 1), at: 7 * Self.size)
            try file.persistLength()
            try machine.putBackBlock(7, of: "file", from: between)
            #expect(throws: VaultError.stale("an older block than this machine has seen")) {
                try file.write([7], at: 7 * Self.size + 100)
            }
            #expect(session.watch.count == 1)
        }
    }

    /// What a truncation has left of a block is as new as the truncation, and can grow again.
    @Test(arguments: [true, false]) func aTailIsLeft(isSynced: Bool) throws {
        let before = try machine.copy()
        try machine.session { session in
            let file = try session.open("file")
            if isSynced { try file.synchronize(dataOnly: true) }
            try file.truncate(to: 2 * Self.size + 10)
            try file.persistLength()
        }
        try machine.session(.refuse) { session in
            try expect([1, 1, 1], in: session)
            let file = try session.open("file")
            try file.append(unsafe [2, 2, 2].span.bytes)
            try file.persistLength()
            #expect(session.watch.count == 0)
        }
        try machine.session(.refuse) { session in
            try expect([1, 1, 1], in: session)
            #expect(session.watch.count == 0)
        }
        // Longer than the one that is there: it verifies.
        try machine.putBackBlock(2, of: "file", from: before)
        try machine.session { session in
            let found = try session.open("file").contents(2 * Int(Self.size) + 13)
            #expect(found.last == 1 && session.watch.count == 1)
        }
    }

    /// The same of a file that was never synced.
    @Test func aTailOfANewFile() throws {
        var between = ""
        try machine.session { session in
            let file = try session.open("new", making: true)
            try file.write(Self.bytes(1, 3), at: 0)
            between = try machine.copy()
            try file.truncate(to: 2 * Self.size + 10)
            try file.append(unsafe [2, 2, 2].span.bytes)
            try file.persistLength()
        }
        try machine.putBackBlock(2, of: "new", from: between)
        try machine.session { session in
            let found = try session.open("new").contents(2 * Int(Self.size) + 13)
            #expect(found.last == 1 && session.watch.count == 1)
        }
    }

    /// A block that is written whole needs nothing of what was there.
    @Test func aWholeBlockIsReplaced() throws {
        let before = try machine.copy()
        try machine.session { try Change.inPlace.make($0) }
        try machine.putBackBlock(2, of: "file", from: before)
        for _ in 0..<2 {
            try machine.session(.refuse) { session in
                let file = try session.open("file")
                try file.write(Self.bytes(3, 1), at: 2 * Self.size)
                try file.persistLength()
                try expect([1, 2, 3, 2, 1, 1], in: session)
                #expect(session.watch.count == 0)
            }
        }
    }

    /// The change of a file that is older as a whole makes its blocks the newest.
    @Test func aChangeEndsIt() throws {
        let before = try machine.copy()
        try machine.session { try Change.inPlace.make($0) }
        try machine.putBack("file", from: before)
        try machine.session { session in
            let found = try Self.first(ofBlock: 2, in: session)
            #expect(found == 1 && session.watch.count == 1)
            let file = try session.open("file")
            try file.append(unsafe [7].span.bytes)
            try file.persistLength()
        }
        try machine.session(.refuse) { session in
            try expect([1, 1, 1, 1, 1, 1, 7], in: session)
            #expect(session.watch.count == 0)
        }
    }

    /// What was written but never confirmed by a header is not remembered: a killed daemon accuses nothing.
    @Test(arguments: [true, false]) func aKilledDaemonAccusesNothing(isSynced: Bool) throws {
        for round in 0..<6 as Range<UInt8> {
            try machine.session(closing: round % 3 == 2) { session in
                let file = try session.open("file")
                for block in 0..<6 as Range<UInt64> where (block + UInt64(round)) % 2 == 0 {
                    try file.write(Self.bytes(round, 1), at: block * Self.size)
                    if isSynced { try file.synchronize(dataOnly: block == 2) }
                }
                try file.truncate(to: 5 * Self.size + 1)
                try file.write(Self.bytes(round, 2), at: 5 * Self.size)
                if round % 2 == 0 { try session.vault.flushAll() }
                try session.watch.marks.save()
            }
            try machine.session(.refuse) { session in
                for block in 0..<6 as Range<UInt64> { _ = try Self.first(ofBlock: block, in: session) }
                #expect(session.watch.count == 0)
            }
        }
    }

    /// A new file was written over and over, and the daemon was killed before any header told of it: the next session
    /// accuses nothing, and what it writes is newer than all of that.
    @Test func afterAKilledSession() throws {
        var before = ""
        try machine.session(closing: false) { session in
            let file = try session.open("new", making: true)
            for round in 0..<100 as Range<UInt8> { try file.write(Self.bytes(round, 3), at: 0) }
            try session.vault.flushAll()
            try session.watch.marks.save()
            before = try machine.copy()
        }
        for round in 0..<2 as Range<UInt8> {
            try machine.session(.refuse) { session in
                let file = try session.open("new")
                try file.write(Self.bytes(200 + round, 3), at: 0)
                try file.persistLength()
                let found = try file.contents(3 * Int(Self.size))
                #expect(found == Self.bytes(200 + round, 3) && session.watch.count == 0)
            }
        }
        try machine.putBackBlock(1, of: "new", from: before)
        try machine.session { session in
            let found = try session.open("new").contents(2 * Int(Self.size))
            #expect(found.last == 99 && session.watch.count == 1)
        }
    }

    /// Another machine goes on with what this one has written, and back, also with what was never synced.
    @Test func twoMachinesInTurn() throws {
        var machines = [machine, try TestMachine(of: machine, from: try machine.copy())]
        for round in 0..<8 as Range<UInt8> {
            try machines[0].session(.refuse) { session in
                let file = try session.open("file")
                for block in 0..<6 as Range<UInt64> { _ = try Self.first(ofBlock: block, in: session) }
                try file.write(Self.bytes(round, 2), at: UInt64(round % 5) * Self.size)
                if round % 2 == 0 { try file.synchronize(dataOnly: true) }
                if round == 5 { try file.truncate(to: 100) }
                try file.write(Self.bytes(round, 6), at: 0)
                try file.persistLength()
                #expect(session.watch.count == 0)
            }
            try machines[1].putBackAll(from: try machines[0].copy())
            machines.swapAt(0, 1)
        }
    }

    /// In a vault of an earlier version, and for a file of then, blocks have no numbers.
    @Test func earlierVaults() throws {
        machine.numbersBlocks = false
        try machine.session { session in
            let file = try session.open("earlier", making: true)
            try file.write(Self.bytes(1, 6), at: 0)
            try file.persistLength()
        }
        machine.numbersBlocks = true
        for round in 2...5 as ClosedRange<UInt8> {
            try machine.session(.refuse) { session in
                let file = try session.open("earlier")
                #expect(!file.header.numbersBlocks)
                let found = try file.contents(6 * Int(Self.size))
                #expect(found.allSatisfy { $0 == round - 1 })
                try file.write(Self.bytes(round, 6), at: 0)
                try file.persistLength()
                #expect(session.watch.count == 0)
            }
        }
    }

    /// What a file has more than before needs no memory.
    @Test func appendsAreNotRemembered() throws {
        try machine.session { session in
            let file = try session.open("log", making: true)
            for _ in 0..<300 { try unsafe file.append([UInt8](repeating: 1, count: 100).span.bytes) }
            try file.persistLength()
            let table = session.watch.marks.table
            #expect(table.blocks.isEmpty && !session.watch.marks.hasBounds(of: file.markKeys[0]))
        }
    }

    // MARK: What must not be accused

    /// Both machines change the file apart from each other, and the one that wrote more wins.
    @Test func anotherMachinesVersion() throws {
        let other = try TestMachine(of: machine, from: try machine.copy())
        try machine.session { session in
            let file = try session.open("file")
            for _ in 0..<3 { try file.write(Self.bytes(2, 2), at: 2 * Self.size) }
            try file.persistLength()
        }
        try other.session { session in
            let file = try session.open("file")
            for _ in 0..<20 { try file.write(Self.bytes(3, 2), at: 3 * Self.size) }
            try file.persistLength()
        }
        try machine.putBackAll(from: try other.copy())
        for _ in 0..<2 {
            try machine.session(.refuse) { session in
                try expect([1, 1, 1, 3, 3, 1], in: session)
                #expect(session.watch.count == 0)
            }
        }
    }

    /// What one machine has accepted is a newer version for the other one, not an older block.
    @Test func whatAnotherMachineHasAccepted() throws {
        let before = try machine.copy()
        try machine.session { try Change.inPlace.make($0) }
        let other = try TestMachine(of: machine, from: try machine.copy())
        try other.session { session in
            let file = try session.open("file")
            try file.write(Self.bytes(4, 1), at: 2 * Self.size)
            try file.persistLength()
        }
        try machine.putBackAll(from: try other.copy())
        try machine.session { try expect([1, 2, 4, 2, 1, 1], in: $0) }
        try machine.putBack("file", from: before)
        try machine.session(.refuse) { session in
            try session.vault.accept("file", in: session.root)
            try expect([1, 1, 1, 1, 1, 1], in: session)
        }
        try other.putBackAll(from: try machine.copy())
        try other.session(.refuse) { session in
            try expect([1, 1, 1, 1, 1, 1], in: session)
            #expect(session.watch.count == 0)
        }
    }

    /// A file of two names that was seen under both is accepted under both.
    @Test func aLinkIsAcceptedToo() throws {
        let before = try machine.copy()
        try machine.session { try Change.linked.make($0) }
        for name in ["file", "other"] as [Name] {
            try machine.session { session in
                let file = try session.open(name)
                try file.write(Self.bytes(3, 1), at: 2 * Self.size)
                try file.persistLength()
            }
        }
        try machine.putBackBlock(2, of: "file", from: before)
        try machine.session(.refuse) { session in
            #expect(throws: VaultError.self) { try session.open("other").contents(3 * Int(Self.size)) }
            try session.vault.accept("file", in: session.root)
            for name in ["other", "file"] as [Name] {
                let found = try session.open(name).contents(3 * Int(Self.size))
                #expect(found.last == 1)
            }
        }
        try machine.session(.refuse) { session in
            for name in ["other", "file"] as [Name] {
                let found = try session.open(name).contents(3 * Int(Self.size))
                #expect(found.last == 1)
            }
            #expect(session.watch.count == 0)
        }
    }

    /// No number is higher than the highest one, and then a block has no older version that can be told.
    @Test func theHighestNumber() throws {
        try machine.session { session in
            let file = try session.open("file")
            file.raiseGeneration(above: BlockNumber.highest - 3)
            for count in [1, 2, 1, 4, 2, 1] as [UInt64] {
                try file.write(Self.bytes(UInt8(count), count), at: 2 * Self.size)
                try file.persistLength()
                let found = try file.contents(6 * Int(Self.size))
                #expect(found[2 * Int(Self.size)] == UInt8(count))
            }
            #expect(session.watch.count == 0)
        }
        for _ in 0..<2 {
            try machine.session(.refuse) { session in
                try expect([1, 1, 1, 2, 4, 4], in: session)
                let file = try session.open("file")
                try file.write([1], at: 2 * Self.size)
                try file.persistLength()
                #expect(session.watch.count == 0)
            }
        }
    }

    /// A file that has got its name only after it was overwritten, and no header since.
    @Test func aFileWithoutAName() throws {
        var nameless = ""
        try machine.session { session in
            let file = try session.vault.createNamelessFile(
                in: session.root, session.me, .completeUntilFirstUserAuthentication)
            try file.write(Self.bytes(1, 3), at: 0)
            let between = try machine.copy()
            nameless = "\(between)/lk.nameless"
            try file.write(Self.bytes(2, 3), at: 0)
            try session.vault.giveName("new", in: session.root, to: file)
        }
        let old = try #require(try FileManager.default.contentsOfDirectory(atPath: nameless).first)
        try machine.putBackBlock(1, of: "new", fromFile: "\(nameless)/\(old)")
        try machine.session { session in
            let found = try session.open("new").contents(2 * Int(Self.size))
            #expect(found.last == 1 && session.watch.count == 1)
        }
    }

    /// A restored file whose name goes away and comes back, before and after it is written to.
    @Test(arguments: [true, false], [true, false]) func aNameThatComesBack(isWritten: Bool, isFirst: Bool) throws {
        let before = try machine.copy()
        try machine.session { try Change.inPlace.make($0) }
        try machine.putBack("file", from: before)
        try machine.session { session in
            func write() throws {
                let file = try session.open(isFirst ? "file" : "other")
                try file.write(Self.bytes(5, 1), at: 5 * Self.size)
                try file.persistLength()
            }
            if isWritten, isFirst { try write() }
            try session.rename("file", to: "other")
            if isWritten, !isFirst { try write() }
            try session.rename("other", to: "file")
        }
        try machine.session(.refuse) { session in
            try expect([1, 1, 1, 1, 1, isWritten ? 5 : 1], in: session)
            #expect(session.watch.count == 0)
        }
    }

    /// What is known of a file's blocks is known under each of its names.
    @Test func aBlockThatIsReadByTheOtherName() throws {
        try machine.makeFile("a", linkedTo: ["b"])
        try machine.session { session in
            let file = try session.open("a")
            try file.write(Self.bytes(1, 3), at: 0)
            try file.persistLength()
        }
        let before = try machine.copy()
        try machine.session { session in
            _ = try session.open("a")
            let file = try session.open("b")
            try file.write(Self.bytes(2, 3), at: 0)
            try file.persistLength()
        }
        let after = try machine.copy()
        for name in ["a", "b"] as [Name] {
            try machine.putBackBlock(1, of: "a", from: before)
            try machine.session(.refuse) { session in
                #expect(throws: VaultError.self) { try session.open(name).contents(2 * Int(Self.size)) }
            }
            try machine.putBackBlock(1, of: "a", from: after)
        }
        // Restored, and changed by one of them: all of it is the newest then.
        try machine.putBack("a", from: before)
        try machine.session { session in
            let file = try session.open("a")
            try file.write(Self.bytes(3, 1), at: 0)
            try file.persistLength()
        }
        for name in ["b", "a"] as [Name] {
            try machine.session(.refuse) { session in
                let found = try session.open(name).contents(3 * Int(Self.size))
                #expect(found.first == 3 && found.last == 1 && session.watch.count == 0)
            }
        }
    }

    /// An answer for a file in which nothing is older leaves what is known of it.
    @Test func nothingIsOlder() throws {
        let before = try machine.copy()
        try machine.session { try Change.inPlace.make($0) }
        try machine.session { try $0.vault.accept("file", in: $0.root) }
        try machine.putBackBlock(2, of: "file", from: before)
        try machine.session { session in
            _ = try Self.first(ofBlock: 2, in: session)
            #expect(session.watch.count == 1)
        }
        // Without a look at it before.
        try machine.session { try $0.vault.accept("file", in: $0.root) }
        try machine.session(.refuse) { session in
            try expect([1, 2, 1, 2, 1, 1], in: session)
            #expect(session.watch.count == 0)
        }
    }
}
