import Crypto
import Format
import Posix
import Store
import Vault

// For a repair only: reads that prove nothing, and writes over what is damaged.

extension Vault {
    /// Decrypts a damaged directory record without a check of its tag, whatever its name binding was. Its ID and class
    /// are guesses that the caller must prove.
    func guessRecord(_ name: Name, in folder: Descriptor) -> DirectoryRecord? {
        guard let text = try? readRecordText(name, in: folder), text.count == DirectoryRecord.sealedTextCount,
            let sealed = Base64URL.decode(text),
            let bytes = try? unsafe keys.directories.guess(sealed.span.bytes)
        else { return nil }
        return try? unsafe DirectoryRecord(decoding: bytes.span.bytes)
    }

    /// Renames an entry that has the name of one of the vault's own files to a temporary name, and removes it if it is
    /// a file or an empty folder.
    func moveOutOfTheWay(_ name: Name, in folder: Descriptor) throws(VaultError) {
        let orphan = Name.temporary()
        let status = try backing { () throws(Errno) in try store.status(of: name, in: folder) }
        try renameFresh(name, to: orphan, in: folder)
        try backing { () throws(Errno) in try store.synchronize(folder, dataOnly: false) }
        // What stays is an orphan.
        if status.kind == .directory {
            try? store.removeDirectory(orphan, in: folder)
        } else {
            try? store.unlink(orphan, in: folder)
        }
    }

    /// Makes it possible to rename a record to this name: rename(2) replaces a file, but not a folder.
    func makeWayForRecord(_ name: Name = .directoryRecord, in folder: Descriptor) throws(VaultError) {
        if (try? store.status(of: name, in: folder).kind) == .directory {
            try moveOutOfTheWay(name, in: folder)
        }
    }

    /// Replays the journal and makes a new head. The records can be trusted without the old head, since each has its
    /// own MAC.
    func rebuildJournalHead() throws(VaultError) {
        let file = try backing { () throws(Errno) in
            try store.open(foundJournalName, in: store.root, OpenFlags.readWrite, mode: 0)
        }
        let status = try backing { () throws(Errno) in try store.status(of: file) }
        let area = UInt64(max(0, status.size - Int64(JournalHead.areaOffset)))
        guard area > 0 else {
            // The journal was closed, and held nothing.
            return try removeJournal()
        }
        // If the store reserves no space, the file may end before the second part does.
        let sizes = [area / 2 / 4096 * 4096, options.journalSize.part, JournalSize.usual.part]
        let empty = JournalHead(volume: keys.volume, partSize: options.journalSize.part)
        var (head, old, count) = (empty, nil as RecoveryJournal?, -1)
        for size in sizes where size > 0 && size <= JournalHead.largestPart {
            var possible = JournalHead(volume: keys.volume, partSize: size)
            possible.parts = JournalHead.mostParts(of: size)
            let journal = RecoveryJournal(of: self, file, possible)
            let records = try journal.entries()
            if records.count > count { (head, old, count) = (possible, journal, records.count) }
            head.nextEpoch = max(head.nextEpoch, (records.map(\.record.epoch).max() ?? 0) + 1)
        }
        // As in any session after a daemon that was killed: what is in the page cache may not be durable.
        try? store.synchronizeAll()
        try old?.replay()
        // The journal has another name too, so it may not belong to this vault. The next session makes a new one.
        guard status.linkCount == 1 else { return try removeJournal() }
        // Not earlier: else an empty file could count as one that was never synced, and be removed.
        head.parts = JournalHead.fewestParts
        head.opened = UInt64(max(1, Timespec.now.seconds))
        try backing { () throws(Errno) in
            try unsafe store.write(JournalHead.signed(head, keys).span.bytes, to: file, at: 0)
            try store.synchronize(file, dataOnly: false)
        }
    }

    private func removeJournal() throws(VaultError) {
        try backing { () throws(Errno) in
            try store.unlink(foundJournalName, in: store.root)
            try store.synchronize(store.root, dataOnly: false)
        }
    }
}
