import Format
import Posix
import Store
import Writeback

// A file's name bindings. Before a file gets a new name, its header holds the new binding, durably or in an order that
// is as good (`MoveWay`). The header drops the old binding only when the folders are durable.

extension File {
    /// The header's fields before a rename or link, to restore them if that fails.
    struct Move {
        fileprivate let bindings: [NameBinding]
        fileprivate let protection: FileProtection
    }

    /// Prepares a rename or link to `binding`: adds it to the header, so that no crash finds the file under a name that
    /// it does not know. With `protection`, the file takes that class and mark, which count under the new name only.
    ///
    /// - Parameters:
    ///   - folder: the directory of the new name.
    ///   - replaced: the time of modification of the backing file at the new name, nil if there is none. The rename
    ///     destroys durable contents, so all of this file must be durable first.
    ///   - isRename: the file leaves its current name.
    func beginMove(
        to binding: NameBinding, in folder: DirectoryIdentifier,
        taking protection: (class: ProtectionClass, isExplicit: Bool)?, replacing replaced: Timespec?, isRename: Bool
    ) throws(VaultError) -> Move {
        try refuseStale()
        var made: Move?
        try withRoom(Journal.roomForFile) { (_) throws(VaultError) in
            try flushBindings()
            noteTouch()
            surpassMark(at: binding)
            let move = Move(bindings: state.header.bindings, protection: state.header.protection)
            let bindings = Self.adding(binding, to: state.header.bindings)
            let takes = protection != nil
            if isRename, try moveInOrder(to: bindings, in: folder, replacing: replaced, takingClass: takes) {
                made = move
                return true
            }
            var taken = state.header.protection
            if let protection {
                // As for a change of class, the keys must be in the ring: a handle that holds the file key is not
                // enough.
                let old = state.header.protectionClass
                guard protection.class == old || vault.ring.has(old) else { throw .locked }
                let wrap = try rewrapped(for: protection.class)
                taken = FileProtection(
                    protectionClass: protection.class, isExplicit: protection.isExplicit,
                    wrapAlgorithm: wrap.algorithm, wrap: wrap.bytes)
            }
            // With several links, another link may be opened first after a crash, and it does not show whether this one
            // was renamed. So a stricter class takes effect before the rename, and a crash cannot lose it.
            let isStricter = taken.protectionClass.isStricter(than: move.protection.protectionClass)
            let comesFirst = isStricter ? try vault.backingStatus(of: .file(descriptor)).linkCount > 1 : false
            if taken != move.protection, !bindings.isEmpty, !comesFirst,
                taken.wrap.count + move.protection.wrap.count <= FileHeader.largestWrap
            {
                state.names.keepAtOldName(move.protection)
            }
            do throws(VaultError) {
                let request = CheckpointRequest(confirming: replaced != nil, isMoving: isRename)
                try checkpointAlone(request, replacing: replaced) { header in
                    header.bindings = bindings
                    header.protection = taken
                }
                try forget()
            } catch {
                // The header on disk may already hold the new binding. The next header that is written restores the old
                // state.
                state.names.cancelProtection()
                if state.header.bindings != move.bindings || state.header.protection != move.protection {
                    state.header.bindings = move.bindings
                    state.header.protection = move.protection
                    state.sync.needsHeader()
                    list()
                }
                throw error
            }
            made = move
            return true
        }
        return made!
    }

    /// Writes the header with the new binding, and the pending bindings; false where this does not suffice.
    private func moveInOrder(
        to bindings: [NameBinding], in folder: DirectoryIdentifier, replacing replaced: Timespec?,
        takingClass takesClass: Bool
    ) throws(VaultError) -> Bool {
        // Another machine that has the file open would not know of a name that only its attribute has.
        guard vault.traits.hasAttributes, !vault.isShared, let device = vault.store.orderedDevice else { return false }
        var isDone = false
        try keepingChangeTime { (own) throws(VaultError) in
            let request = MoveRequest(
                folder: folder, bindings: bindings, replaces: replaced != nil, takesClass: takesClass,
                isOnlyLink: own.linkCount == 1)
            guard own.device == device, state.way(of: request, isStampSpent: isStampSpent) == .ordered else { return }
            let before = state.header.bindings
            state.header.bindings = bindings
            do throws(VaultError) {
                try forget()
                try writeStampedHeader(over: own, replacing: replaced, summarizing: false)
                isDone = (try? vault.setPending(state.header, of: descriptor)) != nil
            } catch {
                state.header.bindings = before
                throw error
            }
            if isDone {
                state.names.didMoveInOrder(state.durable.placed.generation)
            } else {
                state.header.bindings = before
            }
        }
        return isDone
    }

    private static func adding(_ binding: NameBinding, to bindings: [NameBinding]) -> [NameBinding] {
        if bindings.isEmpty { return [] }
        // The pending binding is the last one.
        let bindings = bindings.filter { $0 != binding } + [binding]
        return bindings.count > FileHeader.mostBindings ? [] : bindings
    }

    /// From here on, durably, the journal cannot create the file again under its old name. Needs room in the journal.
    private func forget() throws(VaultError) {
        try backing { () throws(Errno) in
            let journal = try vault.openJournal()
            guard journal.takeUncommittedCreate(identity) else { return }
            try journal.flush(upTo: journal.forget(identity))
        }
    }

    /// Restores the header after a rename or link that failed.
    func cancelMove(_ move: Move) throws(VaultError) {
        try withRoom(Journal.roomForFile) { (_) throws(VaultError) in
            state.names.cancelProtection()
            guard state.header.bindings != move.bindings || state.header.protection != move.protection else {
                return true
            }
            try changeHeader { header in
                header.bindings = move.bindings
                header.protection = move.protection
            }
            list()
            return true
        }
    }

    /// Records that the file has lost the name `binding`, by a rename or an unlink: the header drops it once the
    /// folders are durable. Needs `lock` exclusively.
    func leave(_ binding: NameBinding, for newBinding: NameBinding? = nil, _ folders: [Descriptor]) {
        guard binding != newBinding else { return }
        if newBinding == nil { noteLoss(at: binding) }
        // Its next header would be newer than all that was seen: the binding stays.
        guard !marks.isRefused.load(ordering: .relaxed) else { return }
        // `beginMove` noted the change of a rename.
        if newBinding == nil { noteTouch() }
        state.names.didLeave(binding, folders, of: state.header.bindings)
        list()
    }

    /// The bindings of the names that the file has, or gets by a rename or link under way.
    var finalBindings: [NameBinding] {
        lock.withShared { state.names.finalBindings ?? state.header.bindings }
    }

    /// Records that a link has been made: the name is durable once its folder is.
    func noteName(in folder: Descriptor) {
        lock.withExclusive {
            state.names.didGain(in: folder)
            list()
        }
    }

    /// Flushes the folders of an earlier rename or link, before another one. Needs `lock` exclusively.
    func flushBindings() throws(VaultError) {
        if state.names.hasChanges { try perform(.flushFolders) }
    }

    func flushFolders() throws(VaultError) {
        for folder in state.names.folders { try vault.flush(folder: folder) }
        state.didFlushFolders()
    }

    /// Prepares the unlink of one of several names: the journal may know the file by that name.
    func checkpointBeforeUnlink() throws(VaultError) {
        try lock.withExclusive { () throws(VaultError) in
            try flushBindings()
            try checkpointBeforeChange()
        }
    }

    /// The journal must not know the file by a name that it is about to lose. Needs `lock` exclusively.
    private func checkpointBeforeChange() throws(VaultError) {
        guard state.mustCheckpointBeforeLosingAName else { return }
        try checkpointAlone(CheckpointRequest(confirming: false))
    }

    /// Runs `body`, which takes names from files, while the journal knows none of them by a path. A file that is open
    /// may be written to at any time, and replay does not find what an fsync confirms under a path that is gone.
    static func withoutIntents(
        on files: [File], _ body: () throws(VaultError) -> Void
    ) throws(VaultError) {
        // Only this function holds the locks of several files. Lock order: docs/ARCHITECTURE.md.
        guard let file = files.min(by: { $0.identity.inode < $1.identity.inode }) else { return try body() }
        try file.lock.withExclusive { () throws(VaultError) in
            try file.checkpointBeforeChange()
            try withoutIntents(on: files.filter { $0 !== file }, body)
        }
    }

    /// Puts a new file's header into the journal, before its folder is synced: a durable name must have a file.
    func commitCreate() throws(VaultError) {
        try withRoom(Journal.roomForFile) { (_) throws(VaultError) in
            guard state.mustTellOfCreation else { return true }
            try refuseAfterFailure()
            try journalHeader()
            return true
        }
    }

    var createdIn: DirectoryIdentifier? { lock.withShared { state.names.createdIn } }
}

extension File {
    /// Ends a rename that a crash interrupted: the file keeps `binding` alone, or all bindings if that is nil, as it is
    /// for a file of several links.
    func stay(at binding: NameBinding?) throws(VaultError) {
        try withRoom(Journal.roomForFile) { (_) throws(VaultError) in
            // Another thread has done it, and may be renaming the file by now.
            guard state.names.isInterrupted else { return true }
            // Until a flush, this `File` knows what a crash may leave of the header.
            list()
            try changeHeader { header in
                guard let binding, !header.bindings.isEmpty else { return }
                header.bindings = [binding]
                // With one binding the file no longer shows that it may have duplicates. The higher generation keeps
                // their records from being applied to it.
                header.leap()
            }
            state.names.didStay()
            return true
        }
    }
}
