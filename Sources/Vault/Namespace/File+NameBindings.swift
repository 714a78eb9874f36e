import Format
import Posix
import Store

// Where a file may stand: before it gets a new name its header says so durably, and what it has left it forgets only
// when the folders say so durably.

extension File {
    /// What a rename or link has changed, to take it back.
    struct Move {
        fileprivate let bindings: [NameBinding]
        fileprivate let protection: FileProtection
    }

    /// Before a rename or link to `binding`: it may stand there as well, durably. With `protection`, it takes that
    /// class and mark, which hold there.
    ///
    /// - Parameters:
    ///   - replaced: the time of the backing file that is there. Something durable is lost with the rename, so all of
    ///     this file must be durable.
    ///   - isRename: the place that it stands at will be left.
    func beginMove(
        to binding: NameBinding, taking protection: (class: ProtectionClass, isExplicit: Bool)?,
        replacing replaced: Timespec?,
        isRename: Bool
    ) throws(VaultError) -> Move {
        var made: Move?
        try withRoom(Journal.roomForFile) { (_) throws(VaultError) in
            try flushBindings()
            noteTouch()
            let move = Move(bindings: state.header.bindings, protection: state.header.protection)
            let bindings = Self.adding(binding, to: state.header.bindings)
            var taken = state.header.protection
            if let protection {
                // As for a change of class: whoever has the file open may hold its key, and that alone does not do.
                let old = state.header.protectionClass
                guard protection.class == old || vault.ring.has(old) else { throw .locked }
                let wrap = try rewrapped(for: protection.class)
                taken = FileProtection(
                    protectionClass: protection.class, isExplicit: protection.isExplicit,
                    wrapAlgorithm: wrap.algorithm, wrap: wrap.bytes)
            }
            // Of several links another one may be opened first after a crash, and nobody can tell then whether this one
            // was renamed: a stricter class comes before the name, so that it is never lost.
            let isStricter = taken.protectionClass.isStricter(than: move.protection.protectionClass)
            let comesFirst = isStricter ? try vault.backingStatus(of: .file(descriptor)).linkCount > 1 : false
            if taken != move.protection, !bindings.isEmpty, !comesFirst,
                taken.wrap.count + move.protection.wrap.count <= FileHeader.largestWrap
            {
                state.writeback.currentProtection = move.protection
            }
            do throws(VaultError) {
                try checkpointAlone(confirming: replaced != nil, isMoving: isRename, replacing: replaced) { header in
                    header.bindings = bindings
                    header.protection = taken
                }
                try forget()
            } catch {
                // What is on disk may say more; what is written next says that nothing has changed.
                state.writeback.currentProtection = nil
                if state.header.bindings != move.bindings || state.header.protection != move.protection {
                    state.header.bindings = move.bindings
                    state.header.protection = move.protection
                    state.writeback.isHeaderCurrent = false
                    list()
                }
                throw error
            }
            made = move
            return true
        }
        return made!
    }

    private static func adding(_ binding: NameBinding, to bindings: [NameBinding]) -> [NameBinding] {
        if bindings.isEmpty { return [] }
        // The pending binding is the last one.
        let bindings = bindings.filter { $0 != binding } + [binding]
        return bindings.count > FileHeader.mostBindings ? [] : bindings
    }

    /// The journal could make the file again where it stood: no more, durably. Needs room in it.
    private func forget() throws(VaultError) {
        try backing { () throws(Errno) in
            let journal = try vault.openJournal()
            guard journal.takeUncommittedCreate(identity) else { return }
            try journal.flush(upTo: journal.forget(identity))
        }
    }

    /// Instead of a rename or link that failed: as it was.
    func cancelMove(_ move: Move) throws(VaultError) {
        try withRoom(Journal.roomForFile) { (_) throws(VaultError) in
            state.writeback.currentProtection = nil
            guard state.header.bindings != move.bindings || state.header.protection != move.protection else {
                return true
            }
            try changeHeader { header in
                header.bindings = move.bindings
                header.protection = move.protection
            }
            return true
        }
    }

    /// After a rename to another place, or an unlink: `binding` is left, once the folders are durable. Needs `lock`
    /// exclusively.
    func leave(_ binding: NameBinding, for newBinding: NameBinding? = nil, _ folders: [Descriptor]) {
        guard binding != newBinding else { return }
        // A rename was told before it was made.
        if newBinding == nil { noteTouch() }
        state.writeback.movedIn += folders
        list()
        let left = (state.writeback.finalBindings ?? state.header.bindings).filter { $0 != binding }
        if !left.isEmpty { state.writeback.finalBindings = left }
    }

    /// After a link: the name is there for good once its folder is durable.
    func noteName(in folder: Descriptor) {
        lock.withExclusive {
            state.writeback.movedIn.append(folder)
            list()
        }
    }

    /// The folders are durable: bindings that are left are forgotten. Needs `lock` exclusively.
    func dropOldBindings() {
        if let bindings = state.writeback.finalBindings { state.header.bindings = bindings }
        state.writeback.finalBindings = nil
        state.writeback.currentProtection = nil
        state.writeback.movedIn = []
    }

    /// Before another change of the same kind. Needs `lock` exclusively.
    func flushBindings() throws(VaultError) {
        guard !state.writeback.movedIn.isEmpty else { return }
        for folder in state.writeback.movedIn {
            try vault.flush(folder: folder)
        }
        dropOldBindings()
        // Whoever flushes these folders at the moment has not flushed those that come to be left next.
        state.writeback.round += 1
    }

    /// Before one of several names goes: the journal may know the file by that name.
    func checkpointBeforeUnlink() throws(VaultError) {
        try lock.withExclusive { () throws(VaultError) in
            try flushBindings()
            if state.writeback.isJournaled { try checkpointAlone(confirming: false) }
        }
    }

    /// Runs `body`, which takes names from files, while the journal knows none of them by a path: who has one open may
    /// write to it at any time, and what an fsync confirms under a path that is gone no replay finds.
    static func withoutIntents(
        on files: [File], _ body: () throws(VaultError) -> Void
    ) throws(VaultError) {
        // Nobody else holds two of these locks.
        guard let file = files.min(by: { $0.identity.inode < $1.identity.inode }) else { return try body() }
        try file.lock.withExclusive { () throws(VaultError) in
            if file.state.writeback.isJournaled { try file.checkpointAlone(confirming: false) }
            try withoutIntents(on: files.filter { $0 !== file }, body)
        }
    }

    /// Before its folder is synced: there must be a file when the name is there.
    func commitCreate() throws(VaultError) {
        try withRoom(Journal.roomForFile) { (_) throws(VaultError) in
            guard state.writeback.durableGeneration == 0, !state.writeback.isJournaled else { return true }
            try refuseAfterFailure()
            try journalHeader()
            return true
        }
    }

    var createdIn: DirectoryIdentifier? { lock.withShared { state.writeback.createdIn } }
}

extension File {
    /// After a crash in the middle of a rename: it stands at `binding` and nowhere else. Nil when it has several links.
    func stay(at binding: NameBinding?) throws(VaultError) {
        try withRoom(Journal.roomForFile) { (_) throws(VaultError) in
            try changeHeader { header in
                guard let binding, !header.bindings.isEmpty else { return }
                header.bindings = [binding]
                // From now on it does not look like one of several any more.
                header.leap()
            }
            return true
        }
    }
}
