import Posix
import Store
import Synchronization
import TestStores
import Testing

@testable import Vault

/// A name that gets another file while it is looked up.
@Suite struct LookupTests {
    /// Acts once, before the next operation of a kind.
    private final class ActsBefore: Interceptor {
        private let next = Mutex<(kind: Operation.Kind, act: @Sendable () throws -> Void)?>(nil)

        func the(next kind: Operation.Kind, _ act: @escaping @Sendable () throws -> Void) {
            next.withLock { $0 = (kind, act) }
        }

        func intercept<Result>(
            _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
        ) throws(Errno) -> Result {
            let act = next.withLock { next -> (@Sendable () throws -> Void)? in
                guard let (kind, act) = next, operation.kind == kind else { return nil }
                next = nil
                return act
            }
            do { try act?() } catch { Issue.record(error) }
            return try proceed()
        }
    }

    /// Of a lookup of a file that is not in memory.
    private static let kinds: [Operation.Kind] = [.open, .read]

    private static func vault() throws -> (test: TestVault, hook: ActsBefore) {
        let hook = ActsBefore()
        return (try TestVault { InterceptingStore($0, hook: hook) }, hook)
    }

    /// Everything in the result is of one file: the one whose inode the mount knows.
    @Test(arguments: kinds) func anotherFileTakesItsPlace(kind: Operation.Kind) throws {
        let (test, hook) = try Self.vault()
        let (vault, root) = (test.vault, test.root)
        let files = try ["name", "new"].map { (name: Name) in
            let file = try test.create(name)
            return (try vault.lookup(name, in: root).status.inode, file.identifier)
        }
        try vault.checkpoint()
        hook.the(next: kind) {
            let new = try vault.openFile("new", in: root)
            try vault.rename(
                vault.renameEnd("new", in: root), .file(new), to: vault.renameEnd("name", in: root), replaced: nil,
                RenameKind())
        }
        let found = try vault.lookup("name", in: root)
        guard case .file(let header) = found.details else { throw VaultError.system(.ENOENT) }
        #expect(files.contains { $0 == (found.status.inode, header.file) })
    }

    /// A file that has moved away is bound to another name: that is no damage.
    @Test(arguments: kinds) func itMovesAway(kind: Operation.Kind) throws {
        let (test, hook) = try Self.vault()
        let (vault, root) = (test.vault, test.root)
        try test.create("name").close()
        try vault.checkpoint()
        hook.the(next: kind) {
            let file = try vault.openFile("name", in: root)
            try vault.rename(
                vault.renameEnd("name", in: root), .file(file), to: vault.renameEnd("new", in: root), replaced: nil,
                RenameKind())
            // No header tells the old name any more.
            try vault.checkpoint()
        }
        #expect(throws: VaultError.system(.ENOENT)) { try vault.lookup("name", in: root) }
        #expect(try vault.lookup("new", in: root).status.size == 0)
    }

    @Test(arguments: kinds) func aSymbolicLinkTakesItsPlace(kind: Operation.Kind) throws {
        let (test, hook) = try Self.vault()
        let (vault, root) = (test.vault, test.root)
        try test.create("name").close()
        try vault.checkpoint()
        hook.the(next: kind) {
            try vault.unlink("name", in: root)
            try vault.makeSymbolicLink(to: [1, 2, 3], "name", in: root, user: 0, group: 0)
        }
        _ = try vault.lookup("name", in: root)
        #expect(try vault.lookup("name", in: root).status.kind == .symbolicLink)
    }
}
