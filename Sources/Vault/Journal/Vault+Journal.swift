import Crypto
import Format
import Glibc
import Posix
import Store

extension Name {
    package static let journal = Name(ascii: BackingName.journal)
}

extension Vault {
    /// In a synchronised vault each machine has a journal of its own: a program that copies the vault would put one in
    /// the other one's place.
    package var journalName: Name {
        options.machine.map { Name(ascii: BackingName.machineJournalPrefix + "\($0)") } ?? .journal
    }

    /// The journal with which the next session begins: this machine's, or, if it has none yet, the one from before the
    /// vault became a synchronised one.
    package var foundJournalName: Name {
        guard isSynchronised else { return journalName }
        do throws(Errno) { _ = try store.status(of: journalName, in: store.root) } catch {
            let hasEarlier = (try? store.status(of: .journal, in: store.root)) != nil
            if error == .ENOENT, hasEarlier { return .journal }
        }
        return journalName
    }

    /// The journal of this session; `EROFS` in a read-only vault.
    func openJournal() throws(Errno) -> Journal {
        guard let journal = journal.withLock({ $0 }) else { throw .EROFS }
        return journal
    }

    var isOpen: Bool { journal.withLock { $0 != nil } }

    /// Brings the vault to where the last session left it, and begins a new session. A second call does nothing.
    package func recover() throws(VaultError) {
        guard !isOpen else { return }
        let now = UInt64(max(0, Timespec.now.seconds))
        var head = JournalHead(volume: keys.volume, partSize: options.journalSize.part)
        try replayOthers()
        makeRootRecordFile()
        let file: Descriptor
        if let old = try RecoveryJournal(of: self) {
            head.features = old.head.features
            head.nextEpoch = old.head.nextEpoch
            head.windows = old.head.windows
            if old.head.opened != 0 {
                // A daemon that was killed has left changes in the page cache that no disk has, names among them:
                // this flush makes durable what replay finds. An error is ignored, because it concerns callers of the
                // last session, which have been answered.
                try? store.synchronizeAll()
                let lastWritten = try backing { () throws(Errno) in try store.status(of: old.file).changed.seconds }
                try old.replay()
                head.windows.append(old.head.window(until: now, lastWritten: lastWritten))
                head.windows = head.windows.suffix(JournalHead.mostWindows)
                // Above all epochs that the last session can have used: its records are never taken for new ones.
                head.nextEpoch += 1 << 32
            }
            head.nextEpoch = meetJournal(old.head.nextEpoch, raising: head.nextEpoch)
            if old.isEarlier {
                file = try makeJournal(head)
                // It would be ignored from now on.
                try? store.unlink(.journal, in: store.root)
            } else {
                file = try options.tookOver && old.head.opened != 0 ? newJournal(head, insteadOf: old.file) : old.file
            }
        } else {
            head.nextEpoch = meetJournal(nil, raising: head.nextEpoch)
            file = try makeJournal(head)
        }
        left.windows.withLock { $0 = head.windows }
        head.opened = max(1, now)
        head.hasBlockRuns = true
        let journal = Journal(
            store: store, keys: keys, file: file, head: head, mostParts: options.journalSize.mostParts)
        try backing { () throws(Errno) in
            // The time is read before the journal is written to: the next stamp must be another one.
            let stamp = try store.status(of: file).modified.seconds
            journal.state.withLock { $0.times.stamp = stamp }
            try journal.allocate()
            try journal.changeHead { _ in }
        }
        noteJournal(head.nextEpoch, isOpen: true)
        self.journal.withLock { $0 = journal }
        // Other machines may have such files open.
        if !isShared { clearNameless() }
    }

    /// Drops all files with their keys; what is not checkpointed is left to the next session's replay. The vault must
    /// not be used any more.
    public func abandon() {
        files.forgetDirty()
    }

    /// Another file under the name of the journal: a write of the last session that is still on its way to the store
    /// goes to the old one. What was in that is in place, and durable.
    private func newJournal(_ head: JournalHead, insteadOf old: Descriptor) throws(VaultError) -> Descriptor {
        do throws(VaultError) { return try makeJournal(head) } catch {
            switch error {
            // A full disk is no reason not to mount: the user may want to delete something.
            case .system(.ENOSPC), .system(.EDQUOT): return old
            default: throw error
            }
        }
    }

    private func makeJournal(_ head: JournalHead) throws(VaultError) -> Descriptor {
        try backing { () throws(Errno) in
            try writeWholeFile(
                JournalHead.signed(head, keys)
                    + [UInt8](repeating: 0, count: JournalHead.areaOffset - JournalHead.byteCount),
                at: journalName, in: store.root, replacing: journalName)
            try store.synchronize(store.root, dataOnly: false)
            return try store.open(journalName, in: store.root, OpenFlags.readWrite, mode: 0)
        }
    }

    /// Checkpoints all files and ends the session: the next one need not look for what a crash left. The vault must not
    /// be used any more.
    public func close() throws(VaultError) {
        guard !isReadOnly, let journal = journal.withLock({ $0 }) else { return }
        defer { abandon() }
        // An erased vault's keys are wiped while its mount ends: this thread would stop at the first of them.
        guard !SecureHeap.isWiping else { return }
        try checkpoint()
        // After a clean end no empty directory is taken for the orphan of a crash: all of them must be durable.
        try synchronizeFreshFolders()
        // The removals must be durable too: the disk may still have the names.
        try flushAll()
        // Only now are the removed files in them closed.
        removeLeftTombstones()
        try backing { () throws(Errno) in
            let nextEpoch = journal.state.withLock { $0.nextEpoch } + 1
            try journal.changeHead { head in
                head.opened = 0
                head.hasBlockRuns = false
                head.parts = JournalHead.fewestParts
                head.nextEpoch = nextEpoch
            }
            try store.truncate(journal.file, to: Int64(JournalHead.areaOffset))
            journal.state.withLock { try? journal.stampAnew(&$0) }
            noteJournal(nextEpoch, isOpen: false)
        }
        // The head is durable.
        if let freshness, let flush = freshness.marks.beginFlush() {
            freshness.marks.endFlush(flush, succeeded: true)
        }
        self.journal.withLock { $0 = nil }
    }
}

extension JournalHead {
    /// The window of a session that did not end cleanly, and ends now. File systems' clocks are coarse: hence the 2
    /// seconds at both ends. The clock of a machine without a battery may be behind; then the end is unknown, and a day
    /// after the session's last flush is late enough.
    ///
    /// - Parameter lastWritten: the time of that flush, in seconds since 1970.
    func window(until now: UInt64, lastWritten: Int64) -> Window {
        let last = max(opened, UInt64(max(0, lastWritten)))
        return Window(from: opened - min(opened, 2), to: now >= last ? now + 2 : last + 86_400)
    }
}

extension Journal {
    /// Reserves the space of the first parts, if the backing store can: a full disk must not stop a write over bytes
    /// that exist.
    func allocate() throws(Errno) {
        let size = Int64(head.offset(ofPart: JournalHead.fewestParts))
        do {
            try store.truncate(file, to: Int64(JournalHead.areaOffset))
            try store.allocate(file, mode: 0, offset: 0, length: size)
        } catch {
            switch error {
            // A full disk is no reason not to mount: the user may want to delete something.
            case .EOPNOTSUPP, .ENOSYS, .ENOSPC, .EDQUOT: break
            default: throw error
            }
        }
    }
}
