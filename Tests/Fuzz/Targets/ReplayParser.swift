import Crypto
import Format
import Posix
import Store
import TestStores
import Vault

/// A vault with a journal whose head and records are authentic, whatever they say. A read-only mount must show the same
/// files as a mount that replays the journal, and those must stay.
///
/// An input is the number of bytes that describe a planted file, those bytes, and a journal.
final class ReplayParser: FuzzedParser {
    private let planted: PlantedVault
    private let store: InterceptingStore<Unsynced>
    private var sealer: BlockSealer
    private let backingName: Name

    init() throws {
        planted = try PlantedVault()
        store = InterceptingStore(planted.store, hook: Unsynced())
        sealer = try BlockSealer()
        backingName = Name(
            bytes: try planted.vault.backingPath(of: PlantedFile.name, in: planted.root, at: "").utf8)!
    }

    func run(_ input: [UInt8]) throws(Finding) {
        var reader = Reader(input)
        var description = Reader(reader.bytes(Int(reader.byte())))
        let file = try PlantedFile(&description, in: planted, sealer: &sealer)
        let isVoid = reader.byte() == 255
        let journal = try PlantedJournal(&reader, of: file, named: backingName, in: planted, sealer: &sealer)
        try demandSuccess(of: "planting a vault") { () throws(Errno) in
            try clear()
            try store.plant(isVoid ? [] : file.bytes(planted.keys), at: backingName)
            try store.plant(journal.bytes, at: "lk.journal")
        }

        let before = Result { () throws(VaultError) in try view(isReadOnly: true) }
        let replayed = Result { () throws(VaultError) in try view(isReadOnly: false) }
        try demand(before == replayed, "shown as \(before), replayed \(replayed)")
        guard case .success(let replayed) = replayed else { return }
        let after = Result { () throws(VaultError) in try view(isReadOnly: true) }
        try demand(after == .success(replayed), "replayed to \(replayed), and then \(after)")
    }

    /// What the vault shows.
    private struct View: Equatable, CustomStringConvertible {
        var names: [Name]
        /// The length of the planted file, nil for damage.
        var length: Int64?
        /// The contents of each block, nil for damage.
        var blocks: [[UInt8]?]

        var description: String {
            let sums = blocks.map { block in block.map { "\($0.count):\($0.first ?? 0)" } ?? "damaged" }
            return "\(names), \(length.map { "\($0)" } ?? "damaged"), \(sums)"
        }
    }

    private func view(isReadOnly: Bool) throws(VaultError) -> View {
        let vault = Vault(
            store: store, keys: planted.keys, ring: planted.ring, traits: planted.traits, isReadOnly: isReadOnly)
        let root = try vault.openRoot()
        var view = View(names: try vault.entries(of: root).map(\.name), length: nil, blocks: [])
        do throws(VaultError) {
            view.length = try vault.lookup(PlantedFile.name, in: root).status.size
            let file = try vault.openFile(PlantedFile.name, in: root)
            try file.loadKey()
            for number in 0..<BlockGeometry.blockCount(forLength: file.length) {
                view.blocks.append(try contents(of: number, file))
            }
        } catch {
            switch error {
            case .damaged, .system(.ENOENT): break
            default: throw error
            }
        }
        try vault.close()
        return view
    }

    private func contents(of number: UInt64, _ file: File) throws(VaultError) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0xEE, count: PlantedFile.blockSize)
        do throws(VaultError) {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            let count = try file.read(into: &span, at: number * BlockGeometry.blockSize)
            return Array(bytes.prefix(count))
        } catch {
            guard case .damaged = error else { throw error }
            return nil
        }
    }

    /// Removes everything from the vault but its root's record.
    private func clear() throws(Errno) {
        for entry in try store.entries(of: store.root) where entry.name != "lk.dir" {
            if entry.kind == .directory {
                try store.removeDirectory(entry.name, in: store.root)
            } else {
                try store.unlink(entry.name, in: store.root)
            }
        }
    }
}

/// Leaves out the steps that only a power loss would miss.
final class Unsynced: Interceptor {
    func intercept<Result>(
        _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
    ) throws(Errno) -> Result {
        switch operation.kind {
        case .allocate: throw .EOPNOTSUPP
        case .synchronize, .synchronizeAll:
            guard let done = () as? Result else { return try proceed() }
            return done
        default: return try proceed()
        }
    }
}
