import Posix
import Store
import Synchronization
import TestStores
import Testing

@testable import Vault

/// The space of a removed file is free as soon as a writer needs it, not only after the next background checkpoint.
@Suite struct ReclaimedSpaceTests {
    /// Full until a folder is flushed: then the removed file's space is free.
    private final class FullUntilFlushed: Interceptor {
        private let isFull = Atomic(false)

        func fill() { isFull.store(true, ordering: .relaxed) }

        func intercept<Result>(
            _ operation: Operation, on store: any Store, _ proceed: () throws(Posix.Errno) -> Result
        ) throws(Posix.Errno) -> Result {
            if case .change(.synchronize(let file, _)) = operation, try store.status(of: file).kind == .directory {
                isFull.store(false, ordering: .relaxed)
            }
            if operation.takesSpace && isFull.load(ordering: .relaxed) { throw .ENOSPC }
            return try proceed()
        }
    }

    enum Need: String, CaseIterable { case file, folder, link, write, growth, attribute }

    @Test(arguments: Need.allCases) func removedFilesMakeRoom(need: Need) throws {
        let disk = FullUntilFlushed()
        let test = try TestVault { InterceptingStore($0, hook: disk) }
        let (vault, root) = (test.vault, test.root)
        let kept = try test.create("kept")
        // The journal has begun: its unused part is full of zeros.
        for _ in 0..<2 {
            try kept.write([1], at: 0)
            try kept.synchronize(dataOnly: true)
        }
        let large = try test.create("large")
        try large.write([UInt8](repeating: 1, count: 100_000), at: 0)
        try large.synchronize(dataOnly: true)
        try vault.unlink("large", in: root)
        disk.fill()
        try vault.reclaimingSpace { () throws(VaultError) in
            switch need {
            case .file: _ = try vault.createFile("new", in: root, test.me, .complete)
            case .folder: try vault.makeDirectory("new", in: root, test.me)
            case .link: try vault.link("kept", in: root, file: kept, to: "new", in: root)
            case .write: try kept.write([UInt8](repeating: 2, count: 9000), at: 1)
            case .growth: try kept.truncate(to: 100_000)
            case .attribute: try vault.setAttribute(Array("user.a".utf8), to: [1], flags: 0, of: .file(kept))
            }
        }
        #expect(try kept.contents(1) == [1])
    }

    /// If nothing was removed, a full disk stays full.
    @Test func nothingElseMakesRoom() throws {
        let disk = FullUntilFlushed()
        let test = try TestVault { InterceptingStore($0, hook: disk) }
        try test.create("kept").write([1], at: 0)
        disk.fill()
        #expect(throws: VaultError.system(.ENOSPC)) {
            try test.vault.reclaimingSpace { () throws(VaultError) in
                _ = try test.vault.createFile("new", in: test.root, test.me, .complete)
            }
        }
    }
}
