import Format
import Posix
import Store

extension Vault {
    /// So many files are flushed one by one; more, with all that the backing store's file system has.
    static let mostFlushedAlone = 64

    /// Brings all backing files up to date: what was written lies durably in them.
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
    public var isCheckpointed: Bool { files.dirtyCount == 0 && sidecars.isEmpty }

    /// Checkpoints files; the first error is thrown, after the others have been checkpointed.
    ///
    /// - Parameter files: asked whether there are any, and again when it is this one's turn. Who waits for that must
    ///   not hold files that somebody else checkpoints meanwhile: each keeps a descriptor open.
    func checkpoint(_ files: () -> [File]) throws(VaultError) {
        guard !files().isEmpty else { return }
        // Let go of outside the lock: the last reference to a file that was removed frees its blocks, which may take
        // long.
        var checkpointed: [File] = []
        defer { checkpointed.removeAll() }
        try checkpointing.withLock { _ throws(VaultError) in
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

    /// Makes what lies in the backing files durable, and the names in their folders; those for which that succeeded.
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

    /// Makes the names in folders durable; those for whose folders that succeeded.
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

    /// Makes it durable that files have lost their last names; those for which that succeeded. One whose folder is not
    /// known takes a flush of all.
    private func flushRemovals(
        _ removals: [File.Checkpoint], _ trying: (() throws(VaultError) -> Void?) -> Void?
    ) -> [File.Checkpoint] {
        guard removals.contains(where: \.folders.isEmpty) else { return flushFolders(of: removals, \.folders, trying) }
        return trying { () throws(VaultError) in try flushAll() } == nil ? [] : removals
    }

    // MARK: Room in the journal

    /// Makes sure that the journal has room for records; frees a half if need be. No `File.lock` may be held.
    func makeRoom(_ count: UInt64) throws(VaultError) {
        try boundDirtyFiles()
        while true {
            let (hasRoom, users) = try backing { () throws(Errno) in
                let journal = try openJournal()
                return (try journal.reserve(count), journal.usersOfOtherHalf)
            }
            if hasRoom { return signalLowSpace() }
            var listed: Set<FileIdentity> = []
            try checkpoint {
                let left = files.dirty(users.map(\.key))
                listed = Set(left.map(\.identity))
                return left
            }
            try release(users, but: listed)
        }
    }

    /// Lets go of the records of all files that are checkpointed.
    func releaseCheckpointed() throws(VaultError) {
        let users = try backing { () throws(Errno) in try openJournal().users }
        try release(users, but: Set(files.dirty(users.map(\.key)).map(\.identity)))
    }

    /// What is not listed has been checkpointed; its last records only say that it is gone, or where it is.
    private func release(_ users: [FileIdentity: UInt64], but listed: Set<FileIdentity>) throws(VaultError) {
        for user in users where !listed.contains(user.key) {
            try backing { () throws(Errno) in try openJournal().release(user.key, upTo: user.value) }
        }
    }

    /// Checkpoints when too many files wait for it.
    func boundDirtyFiles() throws(VaultError) {
        if files.dirtyCount > mostDirtyFiles { try checkpoint(ifMoreThan: mostDirtyFiles) }
        let fresh = files.freshFolderCounts
        if fresh.parents > mostDirtyFiles || fresh.folders > Self.mostFreshFolders { try synchronizeFreshFolders() }
    }

    func giveBackRoom(_ count: UInt64) {
        journal.withLock { $0 }?.unreserve(count)
    }

    /// A file that the journal could make again was removed.
    func noteRemoval(of file: FileIdentity) {
        guard let journal = journal.withLock({ $0 }), journal.takeUncommittedCreate(file) else { return }
        // Without it, a later file that a crash leaves empty under the same name would become this one: only then, and
        // as if it had never been removed.
        do throws(VaultError) {
            try makeRoom(Journal.roomForFile)
            defer { giveBackRoom(Journal.roomForFile) }
            _ = try? journal.forget(file)
        } catch {}
    }
}

extension Journal {
    /// Says that a file was removed, or stands elsewhere; the record's sequence number.
    func forget(_ file: FileIdentity) throws(Errno) -> UInt64 {
        let nothing: [UInt8] = []
        return try unsafe append(
            JournalRecord(.forget, of: file.identifier, payloadCount: 0), of: file, nothing.span.bytes
        ).sequence
    }
}
