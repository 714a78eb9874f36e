import Posix
import Testing

@testable import CrashSimulator

/// The oracle: what it accepts and what it rejects.
@Suite struct PromiseTests {
    private let block = 4096

    private func bytes(_ value: UInt8, _ count: Int) -> [UInt8] { [UInt8](repeating: value, count: count) }

    // MARK: Contents

    @Test func eachBlockIsOldOrNew() {
        var history = FileHistory()
        history.write(bytes(1, 3 * block), at: 0)
        history.synchronize()
        history.write(bytes(2, 2 * block), at: block / 2)
        let new = history.current
        #expect(history.flaw(in: bytes(1, 3 * block)) == nil)
        #expect(history.flaw(in: new) == nil)
        #expect(history.flaw(in: Array(new[..<block]) + bytes(1, 2 * block)) == nil)
        #expect(history.flaw(in: bytes(1, block) + bytes(2, block) + bytes(1, block)) == nil)
        #expect(history.flaw(in: bytes(2, block) + bytes(1, 2 * block)) != nil, "untouched bytes of a block")
        #expect(history.flaw(in: bytes(0, block) + bytes(1, 2 * block)) != nil, "zeros where something was saved")
        #expect(history.flaw(in: bytes(1, 2 * block)) != nil, "too short")
        #expect(history.flaw(in: bytes(1, 3 * block + 1)) != nil, "too long")
    }

    @Test func unsyncedDataMayBeZerosOrMissing() {
        var history = FileHistory()
        history.write(bytes(1, 100), at: 0)
        history.synchronize()
        history.write(bytes(2, 2 * block), at: 100)
        let saved = bytes(1, 100)
        #expect(history.flaw(in: saved) == nil)
        #expect(history.flaw(in: saved + bytes(0, 500)) == nil)
        #expect(history.flaw(in: saved + bytes(2, block - 100)) == nil)
        #expect(history.flaw(in: saved + bytes(2, block - 100) + bytes(0, 100)) == nil)
        #expect(history.flaw(in: saved + bytes(0, block - 100) + bytes(2, 100)) == nil)
        #expect(history.flaw(in: bytes(0, 200)) != nil)
        #expect(history.flaw(in: saved + bytes(3, 10)) != nil)
        #expect(history.flaw(in: []) != nil)
    }

    @Test func syncedContentsAreTheOnlyOnes() {
        var history = FileHistory()
        history.write(bytes(1, 10_000), at: 0)
        history.write(bytes(2, 10_000), at: 0)
        history.truncate(to: 5000)
        history.synchronize()
        #expect(history.flaw(in: bytes(2, 5000)) == nil)
        for wrong in [bytes(1, 5000), bytes(2, 4999), bytes(2, 10_000), bytes(2, block) + bytes(1, 904), []] {
            #expect(history.flaw(in: wrong) != nil)
        }
    }

    @Test func aCrashMayHaveHappened() {
        var history = FileHistory()
        history.write(bytes(1, 10_000), at: 0)
        history.synchronize()
        history.truncate(to: 100)
        history.write(bytes(2, 10), at: 5000)
        #expect(history.flaw(in: bytes(1, 10_000)) == nil)
        #expect(history.flaw(in: bytes(1, 100)) == nil)
        #expect(history.flaw(in: bytes(1, 100) + bytes(0, 4900) + bytes(2, 10)) == nil)
        #expect(history.flaw(in: bytes(1, 50)) != nil)
    }

    // MARK: Names and classes

    /// Changes a vault, then changes its folder behind the ledger's back; returns the violations.
    private func violations(
        _ work: (RecordedVault) throws -> Void, then change: (RecordedVault) throws -> Void
    ) throws -> [Violation.Kind] {
        let vault = try RecordedVault()
        try work(vault)
        let promise = vault.promise
        let count = vault.records.count
        try change(vault)
        let check = LedgerCheck(vault.keys, promise)
        return check.violations(in: vault.folder, after: count).map(\.kind)
    }

    @Test func unchangedStateIsAsPromised() throws {
        let found = try violations {
            let file = try $0.makeFile("a")
            try $0.write([1], to: file, at: 0)
            try $0.synchronize(file)
            try $0.synchronize()
        } then: { _ in
        }
        #expect(found.isEmpty)
    }

    @Test func aLostNameIsFound() throws {
        for isSynced in [true, false] {
            let found = try violations {
                let file = try $0.makeFile("a")
                try $0.synchronize(file)
                if isSynced { try $0.synchronize() }
            } then: {
                try $0.vault.unlink("a", in: $0.root.directory)
            }
            #expect(found == (isSynced ? [.names] : []))
        }
    }

    @Test(arguments: [true, false]) func aRenameThatWasTakenBackIsFound(dataOnly: Bool) throws {
        let found = try violations {
            let file = try $0.makeFile("a")
            try $0.synchronize()
            try $0.rename("a", of: file, to: "b")
            try $0.synchronize(file, dataOnly: dataOnly)
        } then: {
            try $0.rename("b", of: try $0.openFile("b"), to: "a")
        }
        #expect(found.isEmpty == dataOnly)
    }

    @Test func aNameThatWasNeverMadeIsFound() throws {
        let found = try violations {
            try $0.synchronize(try $0.makeFile("a"))
            try $0.synchronize()
        } then: {
            _ = try $0.makeFile("b")
        }
        #expect(Set(found) == [.names])
    }

    @Test func aFileWithBothNamesOfARenameIsFound() throws {
        let found = try violations {
            let file = try $0.makeFile("a")
            try $0.synchronize(file)
            try $0.synchronize()
            try $0.rename("a", of: file, to: "b")
        } then: {
            let file = try $0.vault.openFile("b", in: $0.root.directory)
            try $0.vault.link("b", in: $0.root.directory, file: file, to: "a", in: $0.root.directory)
        }
        #expect(found.contains(.names))
    }

    @Test func aClassThatWasNeverSetIsFound() throws {
        for isSet in [true, false] {
            let found = try violations {
                let file = try $0.makeFile("a")
                try $0.synchronize(file)
                try $0.synchronize()
                if isSet { try $0.setClass(.complete, of: file) }
            } then: {
                try $0.vault.openFile("a", in: $0.root.directory).setClass(.complete)
            }
            #expect(found == (isSet ? [] : [.protection]))
        }
    }

    @Test func foreignAndDamagedContentsAreFound() throws {
        for isDamaged in [true, false] {
            let found = try violations {
                let file = try $0.makeFile("a")
                try $0.write(bytes(1, 10_000), to: file, at: 0)
                try $0.synchronize(file)
                try $0.synchronize()
            } then: { vault in
                guard isDamaged else {
                    let file = try vault.vault.openFile("a", in: vault.root.directory)
                    try unsafe file.write([UInt8](repeating: 2, count: 10).span.bytes, at: 5000)
                    return
                }
                let entries = try vault.store.entries(of: vault.store.root)
                let name = try #require(entries.first { !$0.name.description.hasPrefix("lk.") }?.name)
                let file = try vault.store.open(name, in: vault.store.root, 2)
                try unsafe vault.store.write([UInt8](repeating: 0, count: 100).span.bytes, to: file, at: 6000)
            }
            #expect(found == [isDamaged ? .unreadable : .contents])
        }
    }
}
