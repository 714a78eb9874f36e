import Format
import Posix
import Store
import Writeback

// Each header written to the backing file gives it another whole second, so that a copier that compares size and time
// copies it. What stat(2) shows is in the header: docs/FORMAT.md, "Times".

extension File {
    /// The time of modification that stat(2) shows. Needs `lock`.
    func shownTime() throws(Errno) -> Timespec {
        if let modified = state.times.modified { return modified }
        return state.header.shownTime(of: try vault.store.status(of: descriptor).modified)
    }

    /// The times of modification and change that stat(2) shows. Needs `lock`.
    func shownTimes() throws(Errno) -> (modified: Timespec, changed: Timespec) {
        var status = try vault.store.status(of: descriptor)
        show(&status)
        return (status.modified, status.changed)
    }

    /// Writes the header in `state` to the backing file, with the times that stat(2) shows and a new stamp. Needs
    /// `lock` exclusively.
    ///
    /// - Parameter replaced: the time of modification of the backing file that this one is about to replace.
    func writeStampedHeader(replacing replaced: Timespec? = nil) throws(VaultError) {
        try keepingChangeTime { (own) throws(VaultError) in
            try writeStampedHeader(over: own, replacing: replaced, summarizing: true)
        }
    }

    /// As above, within `keepingChangeTime`.
    ///
    /// - Parameters:
    ///   - own: the status of the backing file.
    ///   - summarizing: the file gets its summary, if it may have one.
    func writeStampedHeader(
        over own: FileStatus, replacing replaced: Timespec?, summarizing: Bool
    ) throws(VaultError) {
        _ = try writable()
        var status = own
        show(&status)
        let shown = status.modified
        let seen = [own.modified.seconds, state.durable.placed.stamp, replaced?.seconds].compactMap { $0 }
        let stamp = FileHeader.stamp(after: seen, now: Timespec.now.seconds)
        let before = (state.header.modified, state.header.stamp, state.header.changed, state.header.written)
        state.header.modified = FileTime(shown)
        state.header.stamp = stamp
        state.header.changed = FileTime(status.changed)
        state.header.written = FileTime(.tick)
        do throws(VaultError) {
            try vault.keepingSetID(of: descriptor) { () throws(VaultError) in
                try writeHeaderInPlace(linkCount: UInt64(own.linkCount))
            }
        } catch {
            (state.header.modified, state.header.stamp, state.header.changed, state.header.written) = before
            // The write may have moved the backing file's time all the same. The checkpoint tries again.
            state.times.show(modified: shown)
            state.sync.needsHeader()
            list()
            throw error
        }
        state.durable.didStampHeader(stamp)
        do {
            try vault.store.setTimes(
                accessed: .keep, modified: .at(Timespec(seconds: stamp, nanoseconds: 0)), of: descriptor)
            state.times.show(modified: nil)
            if summarizing, state.allowsSummary(isOnlyLink: own.linkCount == 1) {
                vault.summarize(state.header, of: descriptor)
            }
        } catch {
            // The header is written. A file that shows the wrong time is better than one whose state in memory differs
            // from the disk. The checkpoint tries again.
            state.times.show(modified: shown)
            state.sync.needsHeader()
            list()
        }
    }

    /// Whether a header that is written to the backing file now would get a stamp that a copier cannot tell from the
    /// last one. If so, the caller checkpoints the file or writes the header to the journal. Needs `lock`.
    var isStampSpent: Bool { FileHeader.isSpent(state.durable.placed.stamp, now: Timespec.now.seconds) }

    /// Sets the times. The header gets the time of modification even if nothing else has changed: the backing file must
    /// not get a time that a copy may have seen with an older header.
    public func setTimes(accessed: TimeChange, modified: TimeChange) throws(VaultError) {
        forgetAccess()
        if accessed != .keep {
            try backing { () throws(Errno) in
                try vault.store.setTimes(accessed: accessed, modified: .keep, of: descriptor)
            }
            touch()
        }
        guard modified != .keep else { return }
        try refuseStale()
        try withRoom(Journal.roomForFile) { (_) throws(VaultError) in
            let before = state.times
            state.times.didTouch(.now)
            switch modified {
            case .keep: break
            case .now: state.times.show(modified: .now)
            case .at(let time): state.times.show(modified: time)
            }
            state.sync.needsHeaderSync()
            do throws(VaultError) {
                let keepsLengths = marks.keepsLengths.load(ordering: .relaxed)
                if let place = state.headerAfterTimes(keepsLengths: keepsLengths, isStampSpent: isStampSpent) {
                    try writeHeader(to: place)
                } else {
                    state.sync.needsHeader()
                }
                return true
            } catch {
                state.times.takeBack(before)
                throw error
            }
        }
    }

    /// Notes a modification of the contents. Needs `lock` exclusively.
    func noteModification() {
        state.times.didModify(.now)
        state.sync.needsHeaderSync()
        state.sync.needsHeader()
        list()
    }

    /// Runs `body`, which changes the backing file in a way that the user must not see.
    func keepingBackingTimes(_ body: () throws(Errno) -> Void) throws(Errno) {
        let own = try vault.store.status(of: descriptor).modified
        try body()
        try? vault.store.setTimes(accessed: .keep, modified: .at(own), of: descriptor)
    }

    // MARK: The time of change

    /// Notes a change of metadata outside of the contents: mode, owner, attributes or names.
    func touch() { lock.withExclusive { noteTouch() } }

    /// As `touch`. Needs `lock` exclusively.
    func noteTouch() {
        let now = Timespec.now
        state.times.didTouch(now)
        guard state.header.hidesChange(now: FileTime(now)), !vault.isReadOnly else { return }
        state.sync.needsHeader()
        list()
    }

    /// Runs `body`, which changes the backing file in a way that the user must not see. `body` gets the backing file's
    /// status. Needs `lock` exclusively.
    func keepingChangeTime(_ body: (FileStatus) throws(VaultError) -> Void) throws(VaultError) {
        let before = try backing { () throws(Errno) in try vault.store.status(of: descriptor) }
        let shown = shownChange(of: before)
        defer {
            if let after = try? vault.store.status(of: descriptor) {
                state.times.keepChange(shown, over: after.changed)
            }
        }
        try body(before)
    }

    /// The time of change that stat(2) shows. Needs `lock`.
    func shownChange(of status: FileStatus) -> Timespec {
        let kept = state.times.change.flatMap { $0.backing == status.changed ? $0.shown : nil }
        let shown = kept ?? state.header.shownChange(of: status.changed)
        return max(shown, state.times.touched ?? shown)
    }
}

extension FileHeader {
    package func shownTime(of backing: Timespec) -> Timespec { Timespec(shownTime(of: FileTime(backing))) }
    package func shownChange(of backing: Timespec) -> Timespec { Timespec(shownChange(of: FileTime(backing))) }
}

extension FileTime {
    init(_ time: Timespec) {
        // A store may answer with nanoseconds out of range, and a reader refuses such a header.
        self.init(seconds: time.seconds, nanoseconds: UInt32(min(max(0, time.nanoseconds), 999_999_999)))
    }
}

extension Timespec {
    init(_ time: FileTime) { self.init(seconds: time.seconds, nanoseconds: Int64(time.nanoseconds)) }
}
