import Format
import Posix
import Store

// Each header that is written to the backing file gives it another whole second, so that a copy by size and time takes it
// along; what stat(2) shows is in the header: docs/FORMAT.md, "Times of modification".

extension File {
    /// When it was last modified, as stat(2) shows it. Needs `lock`.
    func shownTime() throws(Errno) -> Timespec {
        if let modified = state.unsettled.modified { return modified }
        return state.header.shownTime(of: try vault.store.status(of: descriptor).modified)
    }

    /// Writes the header as `state` has it to the backing file, with the time that is shown, and stamps it. Needs `lock`
    /// exclusively.
    ///
    /// - Parameter replaced: the time of a backing file in whose place this one is about to be put.
    func placeStampedHeader(replacing replaced: Timespec? = nil) throws(VaultError) {
        let own = try backing { () throws(Errno) in try vault.store.status(of: descriptor).modified }
        let shown = state.unsettled.modified ?? state.header.shownTime(of: own)
        let seen = [own.seconds, state.unsettled.placedStamp, replaced?.seconds].compactMap { $0 }
        let stamp = FileHeader.stamp(after: seen, now: Timespec.now.seconds)
        let before = (state.header.modified, state.header.stamp)
        state.header.modified = ModificationTime(shown)
        state.header.stamp = stamp
        _ = try writable()
        do throws(VaultError) {
            try vault.keepingSetID(of: descriptor) { () throws(VaultError) in try placeHeader() }
        } catch {
            (state.header.modified, state.header.stamp) = before
            throw error
        }
        state.unsettled.placedStamp = stamp
        do {
            try vault.store.setTimes(
                accessed: .keep, modified: .at(Timespec(seconds: stamp, nanoseconds: 0)), of: descriptor)
            state.unsettled.modified = nil
        } catch {
            // The change is done. A file that shows the wrong time is better than one whose memory differs from its disk.
            state.unsettled.modified = shown
        }
    }

    /// A header that is written to the backing file now would look to a copy by size and time like the one before: whoever
    /// writes one settles the file, or leaves it to the journal. Needs `lock`.
    var isStampSpent: Bool { FileHeader.isSpent(state.unsettled.placedStamp, now: Timespec.now.seconds) }

    /// Sets the times. That of modification goes into the header also when there is nothing else to write: a time that is
    /// set back must not give the backing file one that a copy has seen with an older header.
    public func setTimes(accessed: TimeChange, modified: TimeChange) throws(VaultError) {
        forgetAccess()
        if accessed != .keep {
            try backing { () throws(Errno) in
                try vault.store.setTimes(accessed: accessed, modified: .keep, of: descriptor)
            }
        }
        guard modified != .keep else { return }
        try withRoom(Journal.roomForFile) { (_) throws(VaultError) in
            let before = state.unsettled.modified
            switch modified {
            case .keep: break
            case .now: state.unsettled.modified = .now
            case .at(let time): state.unsettled.modified = time
            }
            state.unsettled.isSynced = false
            do throws(VaultError) {
                if state.unsettled.isJournaled {
                    state.unsettled.isHeaderCurrent = false
                } else {
                    try writeHeader()
                }
                return true
            } catch {
                state.unsettled.modified = before
                throw error
            }
        }
    }

    /// The file was modified now. Needs `lock` exclusively.
    func noteModification() {
        state.unsettled.modified = .now
        state.unsettled.isSynced = false
        state.unsettled.isHeaderCurrent = false
        list()
    }

    /// Runs `body`, which changes the backing file and nothing that the user sees.
    func keepingBackingTimes(_ body: () throws(Errno) -> Void) throws(Errno) {
        let own = try vault.store.status(of: descriptor).modified
        try body()
        try? vault.store.setTimes(accessed: .keep, modified: .at(own), of: descriptor)
    }
}

extension FileHeader {
    func shownTime(of backing: Timespec) -> Timespec { Timespec(shownTime(of: ModificationTime(backing))) }
}

extension ModificationTime {
    init(_ time: Timespec) {
        // A store that answers otherwise must not make a header that is refused.
        self.init(seconds: time.seconds, nanoseconds: UInt32(min(max(0, time.nanoseconds), 999_999_999)))
    }
}

extension Timespec {
    init(_ time: ModificationTime) { self.init(seconds: time.seconds, nanoseconds: Int64(time.nanoseconds)) }
}
