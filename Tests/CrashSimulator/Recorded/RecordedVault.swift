import Crypto
import Format
import Foundation
import Keybag
import Posix
public import Store
public import TestStores
public import Vault

/// A vault in memory, driven without a mount. Its store records all changes of its folder, and a ledger keeps all
/// changes that it has acknowledged.
public final class RecordedVault {
    public let folder: StateFolder
    public let store: RecordingStore
    public let keys: VaultKeys
    public private(set) var vault: Vault
    public let marks: RecordedMarks
    public internal(set) var ledger: Ledger
    public private(set) var root: Folder
    private let rootProtection: Protection
    private let top: any Store
    private let journalSize: JournalSize
    /// The disks that the vault was made for.
    public let orders: [SimulatedDisk.Order]

    public struct Folder {
        public let directory: Directory
        public let inode: RecordedInode
    }

    /// A file that stays open.
    public struct OpenFile {
        public let file: File
        public let inode: RecordedInode
    }

    /// - Parameters:
    ///   - order: the disk that the vault is told that it has; if nil, it is told of none that keeps an order, which
    ///     holds for both.
    ///   - wrap: wraps the recording store in one that fails.
    public init(
        on order: SimulatedDisk.Order? = nil, journalSize: JournalSize = .smallest,
        wrapping wrap: (RecordingStore) -> any Store = { $0 }
    ) throws {
        self.journalSize = journalSize
        orders = order.map { [$0] } ?? SimulatedDisk.Order.allCases
        folder = try StateFolder()
        keys = try VaultKeys(in: folder)
        store = try RecordingStore(
            DirectoryStore(path: Path(folder.path)), keepsMetadataOrder: order == .ordered)
        top = wrap(store)
        marks = try RecordedMarks(keys.volume)
        vault = keys.vault(over: top, journalSize: journalSize, freshness: marks.watch)
        let directory = try vault.openRoot()
        root = Folder(directory: directory, inode: .root)
        rootProtection = Protection(directory.record.defaultClass, isExplicit: directory.record.isExplicit)
        ledger = Ledger(root: directory.identifier)
    }

    /// A vault that is not closed keeps the files that are not checkpointed.
    deinit { vault.abandon() }

    public var records: [Record] { store.recorder.records }
    public var found: Int { store.recorder.foundCount }
    public var promise: Promise { Promise(ledger, root: rootProtection) }

    public func names(in folder: Folder) throws -> Set<String> {
        Set(try vault.entries(of: folder.directory).map(\.name.description))
    }

    /// Ends the session, as an unmount does.
    public func close() throws {
        try vault.close()
        try marks.save(after: store.recorder.count)
    }

    /// Begins the next session. Folders and files that were opened in the last session must not be used any more.
    public func reopen() throws {
        try marks.reopen()
        vault = keys.vault(over: top, journalSize: journalSize, freshness: marks.watch)
        root = Folder(directory: try vault.openRoot(), inode: .root)
    }

    // MARK: Acts

    func log<Result>(_ body: () throws -> (Ledger.Act, Result)) rethrows -> Result {
        let begin = store.recorder.count
        let (act, result) = try body()
        ledger.append(act, from: begin, to: store.recorder.count)
        // It can be written: it lies in a folder of its own.
        try! marks.save(after: store.recorder.count)
        return result
    }

    func ownership(_ mode: UInt32) -> Ownership { Ownership(mode: mode, user: getuid(), group: getgid()) }

    func protection(of file: File) -> Protection {
        let header = file.header
        return Protection(header.protectionClass, isExplicit: header.flags.contains(.explicitClass))
    }
}
