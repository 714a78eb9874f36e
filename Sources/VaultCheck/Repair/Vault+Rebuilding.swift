import Crypto
import Format
import Posix
import Store
import Vault

// What only a repair does: reads that prove nothing, writes over what is damaged.

extension Vault {
    /// What is left of a directory record, whatever place it was sealed for: its ID is a guess that somebody else has
    /// to prove, and so is its class.
    func guessRecord(_ name: Name, in folder: Descriptor) -> DirectoryRecord? {
        guard let text = try? readRecordText(name, in: folder), text.count == DirectoryRecord.sealedTextCount,
            let sealed = Base64URL.decode(text),
            let bytes = try? unsafe keys.directories.guess(sealed.span.bytes)
        else { return nil }
        return try? unsafe DirectoryRecord(decoding: bytes.span.bytes)
    }

    /// Gives what stands in the way of a file of ours, and is none, the name of rubbish; removes it if nothing is in
    /// it.
    func moveOutOfTheWay(_ name: Name, in folder: Descriptor) throws(VaultError) {
        let rubbish = Name.temporary()
        let status = try backing { () throws(Errno) in try store.status(of: name, in: folder) }
        try renameFresh(name, to: rubbish, in: folder)
        try backing { () throws(Errno) in try store.synchronize(folder, dataOnly: false) }
        // What stays is found as rubbish.
        if status.kind == .directory {
            try? store.removeDirectory(rubbish, in: folder)
        } else {
            try? store.unlink(rubbish, in: folder)
        }
    }

    /// Lets a record be renamed to this name: a file gives way to that, a folder does not.
    func makeWayForRecord(_ name: Name = .directoryRecord, in folder: Descriptor) throws(VaultError) {
        if (try? store.status(of: name, in: folder).kind) == .directory {
            try moveOutOfTheWay(name, in: folder)
        }
    }

    /// Makes the head of the journal anew, once what the journal holds is in the files: the records in it have MACs of
    /// their own.
    func rebuildJournalHead() throws(VaultError) {
        let file = try backing { () throws(Errno) in
            try store.open(.journal, in: store.root, OpenFlags.readWrite, mode: 0)
        }
        let status = try backing { () throws(Errno) in try store.status(of: file) }
        let area = UInt64(max(0, status.size - Int64(JournalHead.areaOffset)))
        guard area > 0 else {
            // It was closed, and held nothing.
            return try removeJournal()
        }
        // The file may end before the second half does, where the store reserves no space.
        let halves = [area / 2 / 4096 * 4096, halfSize, Journal.usualHalfSize]
        var (head, old, count) = (JournalHead(volume: keys.volume, halfSize: halfSize), nil as RecoveryJournal?, -1)
        for half in halves where half > 0 && half <= JournalHead.largestHalf {
            let possible = JournalHead(volume: keys.volume, halfSize: half)
            let journal = RecoveryJournal(of: self, file, possible)
            let records = try journal.entries()
            if records.count > count { (head, old, count) = (possible, journal, records.count) }
            head.nextEpoch = max(head.nextEpoch, (records.map(\.record.epoch).max() ?? 0) + 1)
        }
        // As at any mount after a daemon that was killed: what is found must be what is there.
        try? store.synchronizeAll()
        try old?.replay()
        // It has a name elsewhere, and nothing says that it is ours at all. The next session makes another one.
        guard status.linkCount == 1 else { return try removeJournal() }
        // Not earlier: what is empty must not be taken for something that was never synced.
        head.opened = UInt64(max(1, Timespec.now.seconds))
        try backing { () throws(Errno) in
            try unsafe store.write(JournalHead.signed(head, keys).span.bytes, to: file, at: 0)
            try store.synchronize(file, dataOnly: false)
        }
    }

    private func removeJournal() throws(VaultError) {
        try backing { () throws(Errno) in
            try store.unlink(.journal, in: store.root)
            try store.synchronize(store.root, dataOnly: false)
        }
    }
}
