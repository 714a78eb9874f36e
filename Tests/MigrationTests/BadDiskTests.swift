import Foundation
import Posix
import Store
import TestStores
import TestSupport
import Testing

@testable import Migration

extension MigrationTests {
    /// A disk that does not keep what was written: the copy is read back, so the original stays.
    @Suite struct BadDisks {
        @Test(arguments: [Migration.Direction.protect, .unprotect])
        func aCopyThatIsNotWhatWasWritten(direction: Migration.Direction) throws {
            let folder = try MigratedFolder("head -c 300000 /dev/urandom > large; echo small > small")
            let before = try folder.snapshotOfFolder()
            if direction == .unprotect { try folder.migrate(.protect) }
            let good = folder.store
            folder.store = InterceptingStore(good, hook: DamagingHook(), keepsMetadataOrder: true)
            #expect(throws: MigrationError.self) { try folder.migrate(direction) }
            folder.store = good
            // Nothing was taken away, and a disk that works again gets all.
            #expect(try folder.migrate(direction).isComplete)
            #expect(folder.events.isEmpty)
            if direction == .unprotect { #expect(try folder.snapshotOfFolder().differences(from: before) == []) }
            #expect(try folder.text(of: "small") == (direction == .protect ? "small\n" : nil))
        }

        /// A file that cannot be read stays where it is; all others are moved.
        @Test func anOriginalThatCannotBeRead() throws {
            let folder = try MigratedFolder("head -c 300000 /dev/urandom > bad; echo good > good; mkdir a; : > a/x")
            let good = folder.store
            folder.store = InterceptingStore(good, hook: UnreadableHook("bad"), keepsMetadataOrder: true)
            let outcome = try folder.migrate(.protect)
            #expect(!outcome.isComplete && outcome.leftCount == 1)
            #expect(try shell("ls -A", in: folder.path).text == "bad\n")
            folder.store = good
            #expect(try folder.text(of: "good") == "good\n")
            #expect(try folder.text(of: "bad") == nil)
            #expect(try folder.migrate(.protect).isComplete)
            #expect(try folder.text(of: "bad")?.utf8.isEmpty == false)
        }
    }
}

/// Changes a byte in the middle of a large write, once, behind the back of the writer.
private final class DamagingHook: Interceptor {
    private let state = State()

    final class State: @unchecked Sendable {  // unchecked: one thread copies the one large file
        var isDone = false
    }

    func intercept<Result>(
        _ operation: TestStores.Operation, on store: any Store, _ proceed: () throws(Posix.Errno) -> Result
    ) throws(Posix.Errno) -> Result {
        let result = try proceed()
        if case .change(.write(let bytes, let file, let offset)) = operation, bytes.count > 100_000, !state.isDone {
            state.isDone = true
            let changed = [bytes[50_000] ^ 1]
            try unsafe store.write(changed.span.bytes, to: file, at: offset + 50_000)
        }
        return result
    }
}

/// Fails to open one file with EIO.
private final class UnreadableHook: Interceptor {
    private let name: Name

    init(_ name: Name) { self.name = name }

    func intercept<Result>(
        _ operation: TestStores.Operation, on store: any Store, _ proceed: () throws(Posix.Errno) -> Result
    ) throws(Posix.Errno) -> Result {
        if case .open(name, _, _, _) = operation { throw .EIO }
        return try proceed()
    }
}
