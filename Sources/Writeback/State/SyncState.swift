/// How much of what was changed is confirmed, and which flush knows what it confirms.
package struct SyncState: Hashable {
    /// What is durable once the journal is flushed up to the file's last record.
    package enum Confirmed {
        /// Something was written since the last confirmation.
        case notAll
        /// All that was written; the header is not.
        case contents
        /// All that was written, with the header.
        case all
    }

    package private(set) var confirmed = Confirmed.contents
    /// The header in the file's last record, or the placed one, is as the file is now.
    package private(set) var isHeaderCurrent = true
    /// The provisional length in the last header that was written, to the backing file or the journal.
    package private(set) var toldLength: UInt64
    /// The file is on the vault's dirty list.
    package private(set) var isListed = false
    /// Grows with each checkpoint, with each truncation, and when old bindings are forgotten: a flush that began in an
    /// earlier round does not know what it confirms.
    package private(set) var round: UInt64 = 0
    /// Grows with each change.
    package private(set) var changes: UInt64 = 0

    package init(toldLength: UInt64) { self.toldLength = toldLength }

    package var isSynced: Bool { confirmed == .all }
    package var isDataSynced: Bool { confirmed != .notAll }

    /// The contents are about to change.
    package mutating func willChange() {
        confirmed = .notAll
        changes += 1
        isHeaderCurrent = false
    }

    /// The header must be confirmed once more.
    package mutating func needsHeaderSync() { if confirmed == .all { confirmed = .contents } }

    /// The last header that was written is not as the file is now.
    package mutating func needsHeader() { isHeaderCurrent = false }

    /// A header as the file is now was written.
    package mutating func didWriteHeader(telling length: UInt64) {
        toldLength = length
        isHeaderCurrent = true
    }

    /// All that was written is durable, or will be with the journal up to the file's last record.
    package mutating func didConfirm(_ confirmed: Confirmed) { self.confirmed = confirmed }

    /// All that was written is durable; its header may not be.
    package mutating func didConfirmContents() { if confirmed == .notAll { confirmed = .contents } }

    /// A checkpoint is durable.
    ///
    /// - Parameter isWhole: its header confirms all of the file.
    package mutating func didCheckpoint(isWhole: Bool) {
        if confirmed != .notAll { confirmed = isWhole ? .all : .contents }
    }

    /// Flushes that are under way do not know any more what they confirm.
    package mutating func beginRound() { round += 1 }

    package mutating func didList() { isListed = true }
    package mutating func didUnlist() { isListed = false }
}
