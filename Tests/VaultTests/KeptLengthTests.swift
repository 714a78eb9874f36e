import Posix
import Store
import TestStores
import Testing

@testable import Vault

/// A file whose close does not reach the daemon: the bytes written to it survive the daemon, and so does its length.
@Suite struct KeptLengthTests {
    /// A way in which a file grows; each has a length afterwards.
    enum Growth: String, CaseIterable {
        case written, appended, overTheEnd, lengthened, allocated, writtenAfterSync, appendedAfterSync,
            truncatedAndWritten
        case writtenAgain
    }

    private func grow(_ file: File, _ how: Growth, _ test: TestVault) throws -> [UInt8] {
        let bytes = [UInt8]((0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 11) })
        switch how {
        case .written:
            try file.write(bytes, at: 0)
            return bytes
        case .appended:
            try file.write([UInt8](bytes[..<4096]), at: 0)
            try unsafe file.append([UInt8](bytes[4096...]).span.bytes)
            return bytes
        case .overTheEnd:
            try file.write(bytes, at: 5000)
            return [UInt8](repeating: 0, count: 5000) + bytes
        case .lengthened:
            try file.truncate(to: 5000)
            return [UInt8](repeating: 0, count: 5000)
        case .allocated:
            try file.allocate(0..<5000, keepingLength: false)
            return [UInt8](repeating: 0, count: 5000)
        case .writtenAfterSync:
            try file.write(bytes, at: 0)
            try file.synchronize(dataOnly: true)
            try file.write(bytes, at: 7000)
            return bytes[..<7000] + bytes
        case .appendedAfterSync:
            try file.write([UInt8](bytes[..<8192]), at: 0)
            try file.synchronize(dataOnly: false)
            try file.write([1], at: 0)
            // New blocks are written in place, so no journal record carries a header along.
            try file.write(bytes, at: 8192)
            return [1] + bytes[1..<8192] + bytes
        case .truncatedAndWritten:
            try file.write(bytes, at: 0)
            try file.synchronize(dataOnly: false)
            try file.truncate(to: 3)
            try file.write([9], at: 3)
            return bytes[..<3] + [9]
        case .writtenAgain:
            try file.write(bytes, at: 0)
            try test.vault.checkpoint()
            try file.write(bytes, at: 9999)
            return bytes[..<9999] + bytes
        }
    }

    @Test(arguments: Growth.allCases) func outlivesTheDaemon(_ how: Growth) throws {
        let test = try TestVault()
        let file = try test.create("file")
        file.keepLengths()
        let contents = try grow(file, how, test)
        let shown = try file.status().modified
        let (vault, root) = try test.afterDeath()
        let found = try vault.openFile("file", in: root)
        #expect(try found.contents(30_000) == contents)
        #expect(try vault.lookup("file", in: root).status.size == Int64(contents.count))
        let time = try found.status().modified
        #expect(time == shown || time.seconds - shown.seconds <= 1, "\(time) for \(shown)")
    }

    /// Times that a program sets survive too, also of a file that is in the journal.
    @Test(arguments: [false, true]) func soDoItsTimes(_ isJournaled: Bool) throws {
        let test = try TestVault()
        let file = try test.create("file")
        file.keepLengths()
        if isJournaled { try test.vault.synchronize(test.root) }
        try file.write([1, 2, 3], at: 0)
        let shown = Timespec(seconds: 1_000_000_000, nanoseconds: 5)
        try file.setTimes(accessed: .keep, modified: .at(shown))
        let (vault, root) = try test.afterDeath()
        #expect(try vault.openFile("file", in: root).status().modified == shown)
        #expect(try vault.openFile("file", in: root).length == 3)
    }

    /// Only keepLengths() has this effect: otherwise the length is written at the close.
    @Test func othersAreKeptWhenTheyAreClosed() throws {
        let test = try TestVault()
        let file = try test.create("file")
        try file.write([1, 2, 3], at: 0)
        let (early, earlyRoot) = try test.afterDeath()
        #expect(try early.openFile("file", in: earlyRoot).length == 0)
        try file.persistLength()
        let (vault, root) = try test.afterDeath()
        #expect(try vault.openFile("file", in: root).contents(10) == [1, 2, 3])
    }

    /// A write inside the file needs no header; one that makes it longer needs a header and no stamp.
    @Test func costsAHeader() throws {
        let counter = CallCounter()
        let test = try TestVault { InterceptingStore($0, hook: counter) }
        let file = try test.create("file")
        file.keepLengths()
        let first = try counter.calls { try file.write([UInt8](repeating: 1, count: 8192), at: 0) }
        #expect(first == [.write: 2], "\(first)")
        let over = try counter.calls { try file.write([UInt8](repeating: 2, count: 4096), at: 4096) }
        #expect(over == [.write: 1], "\(over)")
    }

    /// With the last header, a copy by size and time sees that the file has changed.
    @Test func isStampedInTheEnd() throws {
        let test = try TestVault()
        let file = try test.create("file")
        file.keepLengths()
        try file.write([1, 2, 3], at: 0)
        #expect(try test.vault.store.status(of: file.descriptor).modified.nanoseconds != 0)
        try file.persistLength()
        #expect(try test.vault.store.status(of: file.descriptor).modified.nanoseconds == 0)
    }
}
