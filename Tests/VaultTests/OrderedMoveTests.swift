import Format
import Posix
import Store
import TestStores
import Testing

@testable import Vault

/// Renames on a store that keeps the order of changes of metadata flush nothing. What crashes leave there is
/// CrashTests' matter.
@Suite struct OrderedMoveTests {
    private let counter = CallCounter()

    private func vault(keepsOrder: Bool = true) throws -> TestVault {
        try TestVault { [counter] in InterceptingStore($0, hook: counter, keepsMetadataOrder: keepsOrder) }
    }

    private func flushes(_ body: () throws -> Void) throws -> Int {
        let calls = try counter.calls(body)
        return (calls[.synchronize] ?? 0) + (calls[.synchronizeAll] ?? 0)
    }

    @Test(arguments: [true, false]) func aRename(keepsOrder: Bool) throws {
        let test = try vault(keepsOrder: keepsOrder)
        try test.create("old").write([1, 2, 3], at: 0)
        try test.vault.checkpoint()
        #expect(try flushes { try test.rename("old", to: "new") } == (keepsOrder ? 0 : 1))
        #expect(try test.vault.openFile("new", in: test.root).contents(9) == [1, 2, 3])
    }

    /// A file system of which nothing is known lies on a folder of the store.
    @Test func aFileOfAnotherDevice() throws {
        let test = try TestVault { [counter] base in
            let device = try base.root.status().device
            return InterceptingStore(base, hook: counter, orderedDevice: device + 1)
        }
        try test.create("old").write([1, 2, 3], at: 0)
        try test.vault.checkpoint()
        #expect(try flushes { try test.rename("old", to: "new") } == 1)
    }

    /// The file is opened anew for the rename, as when a program has closed it before.
    @Test func anAtomicSave() throws {
        let test = try vault()
        try test.create("saved").write([1], at: 0)
        try test.vault.checkpoint()
        try saveClosed(test)
        #expect(try flushes { try test.rename("new", to: "saved") } == 0)
        #expect(try test.vault.openFile("saved", in: test.root).contents(9) == [2, 3])
    }

    private func saveClosed(_ test: TestVault) throws {
        let file = try test.create("new")
        try file.write([2, 3], at: 0)
        try file.synchronize(dataOnly: false)
    }

    /// What a rename destroys must be as safe as what takes its place.
    @Test func contentsThatAreNotSyncedAreFlushedBeforeTheyReplaceOthers() throws {
        let test = try vault()
        try test.create("saved").write([1], at: 0)
        let file = try test.create("new")
        try file.write([2, 3], at: 0)
        #expect(try flushes { try test.rename("new", to: "saved") } > 0)
        // A checkpoint has flushed it, and then written the header that shows all of it.
        try test.create("new").write([5], at: 0)
        try test.vault.checkpoint()
        #expect(try flushes { try test.rename("new", to: "saved") } > 0)
        // Written to since it was synced.
        try saveClosed(test)
        let again = try test.vault.openFile("new", in: test.root)
        try again.write([4], at: 100)
        #expect(try flushes { try test.rename("new", to: "saved") } > 0)
        // Made longer, and closed.
        try saveClosed(test)
        try test.vault.openFile("new", in: test.root).truncate(to: 5000)
        try test.vault.openFile("new", in: test.root).persistLength()
        #expect(try flushes { try test.rename("new", to: "saved") } > 0)
    }

    /// Another link's header does not tell of a rename.
    @Test func aFileOfTwoLinks() throws {
        let test = try vault()
        let file = try test.create("old")
        try test.vault.link("old", in: test.root, file: file, to: "other", in: test.root)
        try test.vault.checkpoint()
        #expect(try flushes { try test.rename("old", to: "new") } > 0)
    }

    @Test func aClassThatIsTakenOver() throws {
        let test = try vault()
        try test.create("saved").setClass(.complete)
        try saveClosed(test)
        #expect(try flushes { try test.rename("new", to: "saved") } > 0)
        #expect(try test.vault.openFile("saved", in: test.root).header.protectionClass == .complete)
    }

    /// A header with two classes may be on disk: pending bindings do not say which of them holds.
    @Test func aFileThatHasTakenOverAClass() throws {
        let test = try vault()
        try test.create("saved").setClass(.complete)
        try saveClosed(test)
        try test.rename("new", to: "saved")
        try test.vault.openFile("saved", in: test.root).setClass(.completeUnlessOpen)
        #expect(try flushes { try test.rename("saved", to: "again") } > 0)
        try test.vault.checkpoint()
        #expect(try flushes { try test.rename("again", to: "last") } == 0)
    }

    /// The same, when nothing has the file open any more.
    @Test func aClosedFileThatHasTakenOverAClass() throws {
        let test = try vault()
        try test.create("saved").setClass(.complete)
        try saveClosed(test)
        try test.rename("new", to: "saved")
        // Its header with one class is written, and not flushed.
        try test.vault.checkpoint()
        #expect(try flushes { try test.rename("saved", to: "again") } > 0)
        try test.vault.checkpoint()
        try test.vault.checkpoint()
        #expect(test.vault.isCheckpointed)
        #expect(try flushes { try test.rename("again", to: "last") } == 0)
    }

    /// A new file moves to another folder: a sync of either folder must find its header.
    @Test func aFileThatWasNeverSyncedAndLeavesItsFolder() throws {
        let test = try vault()
        let folder = try test.makeDirectory("folder")
        try test.create("one").write([1], at: 0)
        try test.create("two").write([1], at: 0)
        #expect(try flushes { try test.rename("one", to: "still here") } == 0)
        #expect(try flushes { try test.rename("two", to: "two", newParent: folder) } > 0)
    }

    /// Replay finds a file by its name: what makes its records dead must be on the disk before that changes.
    @Test func aCheckpointThatIsNotFlushed() throws {
        let test = try vault()
        let file = try test.create("old")
        try file.write([UInt8](repeating: 1, count: 5000), at: 0)
        try test.vault.checkpoint()
        try file.write([2], at: 0)
        try file.synchronize(dataOnly: true)
        // As in the middle of a checkpoint of several files.
        let begun = try #require(try file.beginCheckpoint())
        try file.flush(dataOnly: true)
        _ = try #require(try file.continueCheckpoint(begun))
        #expect(try flushes { try test.rename("old", to: "new") } > 0)
    }

    /// A store that keeps the order and takes no attribute of this file.
    @Test func anAttributeThatIsRefused() throws {
        let test = try TestVault { [counter] base in
            let faults = FaultInjectingStore(base)
            faults.faults.fail([.setAttribute], with: .ENOSPC, lasts: true)
            return InterceptingStore(faults, hook: counter, keepsMetadataOrder: true)
        }
        try test.create("old").write([1, 2, 3], at: 0)
        try test.vault.checkpoint()
        #expect(try flushes { try test.rename("old", to: "new") } > 0)
        let (vault, root) = try test.afterDeath()
        #expect(try vault.openFile("new", in: root).contents(9) == [1, 2, 3])
    }

    // MARK: What a power loss leaves

    /// A vault in which `new` was `old` and has the header of then, as a power loss can leave it.
    private func lostHeader(wrapping wrap: (any Store) -> any Store = { $0 }) throws -> TestVault {
        let test = try TestVault { InterceptingStore(wrap($0), hook: counter, keepsMetadataOrder: true) }
        let file = try test.create("old")
        try file.write([1, 2, 3], at: 0)
        try test.vault.checkpoint()
        let header = try header(of: file)
        try test.rename("old", to: "new")
        try unsafe file.descriptor.reopen(OpenFlags.write).write(header.span.bytes, at: 0)
        return test
    }

    private func header(of file: File) throws -> [UInt8] {
        var header = [UInt8](repeating: 0, count: FileHeader.byteCount)
        var elements = header.mutableSpan
        var bytes = unsafe elements.mutableBytes
        _ = try file.descriptor.read(into: &bytes, at: 0)
        return header
    }

    @Test func theFileHasItsNewName() throws {
        let test = try lostHeader()
        let reading = test.next(isReadOnly: true)
        let top = try reading.openRoot()
        #expect(try reading.openFile("new", in: top).contents(9) == [1, 2, 3])
        #expect(try reading.lookup("new", in: top).status.size == 3)

        let (vault, root) = try test.afterDeath()
        // It was mended when the folder was opened.
        let stored = try vault.storedName("new", in: root).name
        let placed = try vault.readHeader(of: root.descriptor.open(stored, OpenFlags.read, mode: 0))
        #expect(placed.bindings == [vault.binding(of: "new", in: root)])
        #expect(try vault.lookup("new", in: root).status.size == 3)
        let file = try vault.openFile("new", in: root)
        #expect(try file.contents(9) == [1, 2, 3])
        // Another thread that has seen the old header, and comes late.
        try file.stay(at: vault.binding(of: "old", in: root))
        // Its header has the name by now, and may not be on disk.
        #expect(file.header.bindings == [vault.binding(of: "new", in: root)])
        #expect(try vault.hasPending(file.descriptor))
        try vault.checkpoint()
        try file.synchronize(dataOnly: false)
        #expect(try file.descriptor.attribute(FileSummary.attribute).count == FileSummary.byteCount)
    }

    /// The header that gets the name is not on disk yet when the file is opened again.
    @Test func theNameStaysUntilTheHeaderIsFlushed() throws {
        let test = try lostHeader()
        let (vault, root) = try test.afterDeath()
        _ = try vault.openFile("new", in: root)
        let file = try vault.openFile("new", in: root)
        try file.setTimes(accessed: .keep, modified: .at(Timespec(seconds: 1, nanoseconds: 0)))
        try file.setClass(.complete)
        #expect(try vault.hasPending(file.descriptor))
        try vault.checkpoint()
        #expect(try !vault.hasPending(file.descriptor))
    }

    /// A store that cannot read the attribute now does not show that the file belongs elsewhere, and loses it nothing.
    @Test func bindingsThatCannotBeRead() throws {
        var faults: FaultPlan!
        let test = try lostHeader { store in
            let failing = FaultInjectingStore(store)
            faults = failing.faults
            return failing
        }
        // It mends nothing.
        let vault = test.next(isReadOnly: true)
        let root = try vault.openRoot()
        faults.fail([.attribute], with: .EIO, lasts: true)
        #expect(throws: VaultError.system(.EIO)) { try vault.lookup("new", in: root) }
        #expect(throws: VaultError.system(.EIO)) { try vault.openFile("new", in: root) }
        faults.clear()
        let file = try vault.openFile("new", in: root)
        faults.fail([.attribute], with: .EIO, lasts: true)
        #expect(throws: VaultError.system(.EIO)) { try vault.dropSummary(of: file.descriptor, ifLongerThan: 0) }
        faults.clear()
        #expect(try vault.hasPending(file.descriptor))
    }

    /// No other bindings give a file a name.
    @Test(arguments: ["of another file", "changed", "of an earlier header", "none"])
    func otherBindings(_ what: String) throws {
        let test = try lostHeader()
        let stored = try test.vault.storedName("new", in: test.root).name
        let descriptor = try test.root.descriptor.open(stored, OpenFlags.readWrite, mode: 0)
        var value = try descriptor.attribute(FileSummary.attribute)
        switch what {
        case "of another file":
            try test.create("other").write([1], at: 0)
            try test.rename("other", to: "an other")
            let name = try test.vault.storedName("an other", in: test.root).name
            value = try test.root.descriptor.open(name, OpenFlags.read, mode: 0).attribute(FileSummary.attribute)
        case "changed": value[12] ^= 1
        case "of an earlier header":
            let last = try test.vault.readHeader(of: descriptor)
            var older = last
            older.generation -= 1
            older.bindings.append(test.vault.binding(of: "new", in: test.root))
            try test.vault.setPending(older, of: descriptor)
            value = try descriptor.attribute(FileSummary.attribute)
        default: value = [0]
        }
        try descriptor.setAttribute(FileSummary.attribute, to: value)
        let (vault, root) = try test.afterDeath()
        #expect(throws: VaultError.self) { try vault.openFile("new", in: root) }
        #expect(throws: VaultError.self) { try vault.lookup("new", in: root) }
    }

    /// A truncation removes summaries, and must not remove pending bindings.
    @Test func aTruncatedFileKeepsItsBindings() throws {
        let test = try lostHeader()
        let file = try test.vault.openFile("new", in: test.root)
        #expect(try !test.vault.dropSummary(of: file.descriptor, ifLongerThan: 0))
        #expect(try test.vault.hasPending(file.descriptor))
        try file.truncate(to: 1)
        try test.vault.checkpoint()
        try file.synchronize(dataOnly: false)
        #expect(try test.afterDeath().vault.lookup("new", in: test.root).status.size == 1)
    }
}
