import Format
import Posix
import Store

extension Vault {
    /// So many files are flushed one by one; more, with all that the backing store's file system has.
    static let mostFlushedAlone = 64

    /// Brings all backing files up to date: what was written lies durably in them.
    public func settle() throws(VaultError) {
        try settle(ifMoreThan: 0)
    }

    private func settle(ifMoreThan count: Int) throws(VaultError) {
        guard !isReadOnly, isOpen else { return }
        try backing { () throws(Errno) in try openJournal().flush() }
        try settle { files.unsettledCount > count ? files.unsettled : [] }
        try dropSidecars()
    }

    /// Whether there is anything to settle.
    public var isSettled: Bool { files.unsettledCount == 0 && sidecars.isEmpty }

    /// Settles files; the first error is thrown, after the others have been settled.
    ///
    /// - Parameter files: asked whether there are any, and again when it is this one's turn. Who waits for that must not hold
    ///   files that somebody else settles meanwhile: each keeps a descriptor open.
    func settle(_ files: () -> [File]) throws(VaultError) {
        guard !files().isEmpty else { return }
        // Let go of outside the lock: the last reference to a file that was removed frees its blocks, which may take long.
        var settled: [File] = []
        defer { settled.removeAll() }
        try settling.withLock { _ throws(VaultError) in
            let files = files()
            guard !files.isEmpty else { return }
            settled = files
            var failure: VaultError?
            func trying<Result>(_ body: () throws(VaultError) -> Result?) -> Result? {
                do throws(VaultError) { return try body() } catch {
                    failure = failure ?? error
                    return nil
                }
            }
            var begun = files.compactMap { file in trying { () throws(VaultError) in try file.beginSettling() } }
            let removed = begun.filter(\.isRemoval)
            begun.removeAll(where: \.isRemoval)
            for removal in flushRemovals(removed, trying) {
                trying { () throws(VaultError) in try removal.file.finishRemoval() }
            }
            begun = flush(begun, \.file, folders: \.folders, needsAll: \.hasLostSummary, trying)
            let placed = begun.compactMap { settling in
                let placement = trying { () throws(VaultError) in try settling.file.continueSettling(settling) }
                noteSettled(settling.status, settling.file.header)
                return placement
            }
            for placement in flush(placed, \.file, trying) {
                trying { () throws(VaultError) in try placement.file.endSettling(placement) }
            }
            if let failure { throw failure }
        }
    }

    /// Makes what lies in the backing files durable, and the names in their folders; those for which that succeeded.
    private func flush<Settling>(
        _ settlings: [Settling], _ file: (Settling) -> File, folders: (Settling) -> [Descriptor] = { _ in [] },
        needsAll: (Settling) -> Bool = { _ in false },
        _ trying: (() throws(VaultError) -> Void?) -> Void?
    ) -> [Settling] {
        guard !settlings.isEmpty else { return [] }
        let distinct = Set(settlings.flatMap(folders).map(ObjectIdentifier.init))
        let isFlushed = settlings.count + distinct.count > Self.mostFlushedAlone && haveFlushedAll()
        let inTheirFolders = isFlushed ? settlings : flushFolders(of: settlings, folders, trying)
        return inTheirFolders.filter { settling in
            let (file, dataOnly) = (file(settling), !needsAll(settling))
            return trying { () throws(VaultError) in
                if isFlushed { try file.refuseAfterFailure() } else { try file.flush(dataOnly: dataOnly) }
            } != nil
        }
    }

    /// Makes the names in folders durable; those for whose folders that succeeded.
    private func flushFolders<Settling>(
        of settlings: [Settling], _ folders: (Settling) -> [Descriptor],
        _ trying: (() throws(VaultError) -> Void?) -> Void?
    ) -> [Settling] {
        var isDone: [ObjectIdentifier: Bool] = [:]
        return settlings.filter { settling in
            folders(settling).allSatisfy { folder in
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
        _ removals: [File.Settling], _ trying: (() throws(VaultError) -> Void?) -> Void?
    ) -> [File.Settling] {
        guard removals.contains(where: \.folders.isEmpty) else { return flushFolders(of: removals, \.folders, trying) }
        return trying { () throws(VaultError) in try flushAll() } == nil ? [] : removals
    }

    // MARK: Room in the journal

    /// Makes sure that the journal has room for records; frees a half if need be. No `File.lock` may be held.
    func makeRoom(_ count: UInt64) throws(VaultError) {
        try boundUnsettled()
        while true {
            let (hasRoom, users) = try backing { () throws(Errno) in
                let journal = try openJournal()
                return (try journal.reserve(count), journal.usersOfOtherHalf)
            }
            if hasRoom { return ringIfPressed() }
            var listed: Set<FileIdentity> = []
            try settle {
                let left = files.unsettled(users.map(\.key))
                listed = Set(left.map(\.identity))
                return left
            }
            try release(users, but: listed)
        }
    }

    /// Lets go of the records of all files that are settled.
    func releaseSettled() throws(VaultError) {
        let users = try backing { () throws(Errno) in try openJournal().users }
        try release(users, but: Set(files.unsettled(users.map(\.key)).map(\.identity)))
    }

    /// What is not listed has been settled; its last records only say that it is gone, or where it is.
    private func release(_ users: [FileIdentity: UInt64], but listed: Set<FileIdentity>) throws(VaultError) {
        for user in users where !listed.contains(user.key) {
            try backing { () throws(Errno) in try openJournal().release(user.key, upTo: user.value) }
        }
    }

    /// Settles when too many files wait for it.
    func boundUnsettled() throws(VaultError) {
        if files.unsettledCount > mostUnsettled { try settle(ifMoreThan: mostUnsettled) }
        let fresh = files.freshFolderCounts
        if fresh.parents > mostUnsettled || fresh.folders > Self.mostFreshFolders { try synchronizeFreshFolders() }
    }

    func giveBackRoom(_ count: UInt64) {
        journal.withLock { $0 }?.unreserve(count)
    }

    /// A file that the journal could make again was removed.
    func noteRemoval(of file: FileIdentity) {
        guard let journal = journal.withLock({ $0 }), journal.takeBorn(file) else { return }
        // Without it, a later file that a cut leaves empty under the same name would become this one: only then, and as
        // if it had never been removed.
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
