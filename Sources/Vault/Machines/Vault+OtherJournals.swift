import Format
import Posix
import Store

extension Vault {
    /// Brings the files to where the last sessions of other machines left them, on a store that the machines share. On
    /// another one, the journals of others are copies, which may be older than the files: each machine replays its own.
    func replayOthers() throws(VaultError) {
        guard options.replaysOthers, isSynchronised else { return }
        for entry in try backingEntries(of: store.root) {
            guard let machine = BackingName.machine(ofJournal: entry.name.bytes), machine != options.machine,
                let old = try RecoveryJournal(of: self, named: entry.name), old.head.opened != 0
            else { continue }
            // As in `recover`: what is in the page cache may not be durable.
            try? store.synchronizeAll()
            try old.replay()
            try replace(old, named: entry.name)
        }
    }

    /// Puts an empty journal in the place of one that was replayed.
    func replace(_ old: RecoveryJournal, named name: Name) throws(VaultError) {
        var head = JournalHead(volume: keys.volume, partSize: old.head.partSize)
        head.features = old.head.features
        head.windows = old.head.windows
        head.nextEpoch = old.head.nextEpoch + 1 << 32
        // Another file: a write of that machine that is still on its way goes to the old one.
        let bytes = JournalHead.signed(head, keys)
        try backing { () throws(Errno) in
            try writeWholeFile(
                bytes + [UInt8](repeating: 0, count: JournalHead.areaOffset - JournalHead.byteCount),
                at: name, in: store.root, replacing: name)
            try store.synchronize(store.root, dataOnly: false)
        }
    }
}
