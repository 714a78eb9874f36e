import Format
import Posix
import Store

extension Vault {
    /// Up to so many files are flushed one by one; for more, the backing store's whole file system is flushed.
    static let mostFlushedAlone = 64

    /// Brings all backing files up to date: what was written is then durable in them.
    public func checkpoint() throws(VaultError) {
        try checkpoint(ifMoreThan: 0)
    }

    private func checkpoint(ifMoreThan count: Int) throws(VaultError) {
        guard !isReadOnly, isOpen else { return }
        try backing { () throws(Errno) in try openJournal().flush() }
        try checkpoint { files.dirtyCount > count ? files.dirty : [] }
        try dropSidecars()
    }

    /// Whether there is anything to checkpoint.
    public var isCheckpointed: Bool { files.dirtyCount == 0 && left.sidecars.isEmpty }

    /// Checkpoints files; the first error is thrown, after the others have been checkpointed.
    ///
    /// - Parameter files: returns the files. It is called once before `checkpointing` is taken, to see whether there
    ///   are any, and again under it: a waiting thread must not hold references to files that another one checkpoints
    ///   meanwhile, since each keeps a descriptor open.
    func checkpoint(_ files: () -> [File]) throws(VaultError) {
        guard !files().isEmpty else { return }
        // Released outside the lock: the last reference to a removed file frees its blocks, which may take long.
        var checkpointed: [File] = []
        defer { checkpointed.removeAll() }
        try checkpoints.checkpointing.withLock { _ throws(VaultError) in
            let files = files()
            guard !files.isEmpty else { return }
            checkpointed = files
            var failure: VaultError?
            func trying<Result>(_ body: () throws(VaultError) -> Result?) -> Result? {
                do throws(VaultError) { return try body() } catch {
                    failure = failure ?? error
                    return nil
                }
            }
            var begun = files.compactMap { file in trying { () throws(VaultError) in try file.beginCheckpoint() } }
            let removed = begun.filter(\.isRemoval)
            begun.removeAll(where: \.isRemoval)
            for removal in flushRemovals(removed, trying) {
                trying { () throws(VaultError) in try removal.file.finishRemoval() }
            }
            begun = flush(begun, \.file, folders: \.folders, needsAll: \.hasLostSummary, trying)
            let placed = begun.compactMap { checkpoint in
                let written = trying { () throws(VaultError) in try checkpoint.file.continueCheckpoint(checkpoint) }
                noteCheckpoint(checkpoint.status, checkpoint.file.header)
                return written
            }
            for written in flush(placed, \.file, trying) {
                trying { () throws(VaultError) in try written.file.endCheckpoint(written) }
            }
            if let failure { throw failure }
        }
    }

    /// Flushes backing files, and the folders that hold their names; returns those for which that succeeded.
    private func flush<Begun>(
        _ checkpoints: [Begun], _ file: (Begun) -> File, folders: (Begun) -> [Descriptor] = { _ in [] },
        needsAll: (Begun) -> Bool = { _ in false },
        _ trying: (() throws(VaultError) -> Void?) -> Void?
    ) -> [Begun] {
        guard !checkpoints.isEmpty else { return [] }
        let distinct = Set(checkpoints.flatMap(folders).map(ObjectIdentifier.init))
        let isFlushed = checkpoints.count + distinct.count > Self.mostFlushedAlone && haveFlushedAll()
        let inTheirFolders = isFlushed ? checkpoints : flushFolders(of: checkpoints, folders, trying)
        return inTheirFolders.filter { checkpoint in
            let (file, dataOnly) = (file(checkpoint), !needsAll(checkpoint))
            return trying { () throws(VaultError) in
                if isFlushed { try file.refuseAfterFailure() } else { try file.flush(dataOnly: dataOnly) }
            } != nil
        }
    }

    /// Flushes folders; returns the checkpoints for whose folders that succeeded.
    private func flushFolders<Begun>(
        of checkpoints: [Begun], _ folders: (Begun) -> [Descriptor],
        _ trying: (() throws(VaultError) -> Void?) -> Void?
    ) -> [Begun] {
        var isDone: [ObjectIdentifier: Bool] = [:]
        return checkpoints.filter { checkpoint in
            folders(checkpoint).allSatisfy { folder in
                if let isDone = isDone[ObjectIdentifier(folder)] { return isDone }
                let isFlushed = trying { () throws(VaultError) in try flush(folder: folder) } != nil
                isDone[ObjectIdentifier(folder)] = isFlushed
                return isFlushed
            }
        }
    }

    /// Makes it durable that files have lost their last names; returns those for which that succeeded. If the folder of
    /// one is unknown, all is flushed.
    private func flushRemovals(
        _ removals: [File.Checkpoint], _ trying: (() throws(VaultError) -> Void?) -> Void?
    ) -> [File.Checkpoint] {
        guard removals.contains(where: \.folders.isEmpty) else { return flushFolders(of: removals, \.folders, trying) }
        return trying { () throws(VaultError) in try flushAll() } == nil ? [] : removals
    }

    // MARK: Room in the journal

    /// Makes sure that the journal has room for records; if need be, the journal grows, or a part of it is freed. No
    /// `File.lock` may be held.
    func makeRoom(_ count: UInt64) throws(VaultError) {
        try boundDirtyFiles()
        let journal = try backing { () throws(Errno) in try openJournal() }
        var returns: UInt64?
        while true {
            guard try !backing({ () throws(Errno) in try journal.reserve(count) }) else { return signalLowSpace() }
            if try backing({ () throws(Errno) in try journal.grow() }) { continue }
            if journal.isReserved {
                if let returns { journal.waitForReturn(since: returns) }
                // Read before the next attempt, so that no return is missed.
                returns = journal.returns.withLock { $0 }
                continue
            }
            let users = journal.usersOfNextPart
            var listed: Set<FileIdentity> = []
            try checkpoint {
                let left = files.dirty(users.map(\.key))
                listed = Set(left.map(\.identity))
                return left
            }
            try release(users, but: listed)
        }
    }

    /// Releases the records of all files that are checkpointed.
    func releaseCheckpointed() throws(VaultError) {
        let users = try backing { () throws(Errno) in try openJournal().users }
        try release(users, but: Set(files.dirty(users.map(\.key)).map(\.identity)))
    }

    /// Makes a journal that has grown small again, if nothing in it is needed.
    func shrinkJournal() throws(VaultError) {
        guard let journal = journal.withLock({ $0 }), journal.isGrown else { return }
        try releaseCheckpointed()
        try backing { () throws(Errno) in try journal.shrink() }
    }

    /// Releases the records of files that are not listed: those have been checkpointed. Their last records only say
    /// that they are gone, or where they are.
    private func release(_ users: [FileIdentity: UInt64], but listed: Set<FileIdentity>) throws(VaultError) {
        for user in users where !listed.contains(user.key) {
            try backing { () throws(Errno) in try openJournal().release(user.key, upTo: user.value) }
        }
    }

    /// Checkpoints when too many files wait for it, and flushes new directories when there are too many.
    func boundDirtyFiles() throws(VaultError) {
        let (counts, most) = (files.counts, mostDirtyFiles)
        if counts.dirty > most { try checkpoint(ifMoreThan: most) }
        if counts.parents > most || counts.freshFolders > Self.mostFreshFolders { try synchronizeFreshFolders() }
    }

    func giveBackRoom(_ count: UInt64) {
        journal.withLock { $0 }?.unreserve(count)
    }

    /// Notes that a file was removed which the journal could make again.
    func noteRemoval(of file: FileIdentity) {
        guard let journal = journal.withLock({ $0 }), journal.takeUncommittedCreate(file) else { return }
        // Without the record, replay could turn a later file that a crash leaves empty under the same name into this
        // one. A failure is ignored: only that crash is affected, and the file is then as if it had never been removed.
        do throws(VaultError) {
            try makeRoom(Journal.roomForFile)
            defer { giveBackRoom(Journal.roomForFile) }
            _ = try? journal.forget(file)
        } catch {}
    }
}

extension Journal {
    /// Appends a record that a file was removed, or lies elsewhere; returns its sequence number.
    func forget(_ file: FileIdentity) throws(Errno) -> UInt64 {
        let nothing: [UInt8] = []
        return try unsafe append(
            JournalRecord(.forget, of: file.identifier, payloadCount: 0), of: file, nothing.span.bytes
        ).sequence
    }
}
