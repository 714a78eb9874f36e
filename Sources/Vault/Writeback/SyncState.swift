/// How much of what was changed is confirmed, and which flush knows what it confirms.
package struct SyncState {
    /// What is durable once the journal is flushed up to the file's last record.
    enum Confirmed {
        /// Something was written since the last confirmation.
        case notAll
        /// All that was written; the header is not.
        case contents
        /// All that was written, with the header.
        case all
    }

    private(set) var confirmed = Confirmed.contents
    /// The header in the file's last record, or the placed one, is as the file is now.
    private(set) var isHeaderCurrent = true
    /// The provisional length in the last header that was written, to the backing file or the journal.
    private(set) var toldLength: UInt64
    /// The file is on the vault's dirty list.
    private(set) var isListed = false
    /// Grows with each checkpoint, with each truncation, and when old bindings are forgotten: a flush that began in an
    /// earlier round does not know what it confirms.
    private(set) var round: UInt64 = 0
    /// Grows with each change.
    private(set) var changes: UInt64 = 0

    init(toldLength: UInt64) { self.toldLength = toldLength }

    var isSynced: Bool { confirmed == .all }
    var isDataSynced: Bool { confirmed != .notAll }

    /// The contents are about to change.
    mutating func willChange() {
        confirmed = .notAll
        changes += 1
        isHeaderCurrent = false
    }

    /// The header must be confirmed once more.
    mutating func needsHeaderSync() { if confirmed == .all { confirmed = .contents } }

    /// The last header that was written is not as the file is now.
    mutating func needsHeader() { isHeaderCurrent = false }

    /// A header as the file is now was written.
    mutating func didWriteHeader(telling length: UInt64) {
        toldLength = length
        isHeaderCurrent = true
    }

    /// All that was written is durable, or will be with the journal up to the file's last record.
    mutating func didConfirm(_ confirmed: Confirmed) { self.confirmed = confirmed }

    /// All that was written is durable; its header may not be.
    mutating func didConfirmContents() { if confirmed == .notAll { confirmed = .contents } }

    /// A checkpoint is durable.
    ///
    /// - Parameter isWhole: its header confirms all of the file.
    mutating func didCheckpoint(isWhole: Bool) {
        if confirmed != .notAll { confirmed = isWhole ? .all : .contents }
    }

    /// Flushes that are under way do not know any more what they confirm.
    mutating func beginRound() { round += 1 }

    mutating func didList() { isListed = true }
    mutating func didUnlist() { isListed = false }
}
