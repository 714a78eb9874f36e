import Crypto
import Format
import Keybag
import Posix
import Store
import Synchronization

/// The redo journal: blocks and headers that must be durable before they may lie in their files.
///
/// A write over bytes that a crash must not harm is appended here and copied into place later; one flush of the journal
/// makes it durable, for all files at once. docs/DURABILITY.md has the argument, docs/FORMAT.md the bytes.
///
/// Two halves: while one is written, the files that have records in the other are checkpointed, and then it is free.
/// Thread-safe; its locks are leaves but for the store.
package final class Journal: Sendable {
    /// Bytes of one half, as a rule.
    package static let usualHalfSize: UInt64 = 16 << 20
    let store: any Store
    let keys: VolumeKeys
    let file: Descriptor
    let state: Mutex<State>
    /// Held by whoever flushes; the others wait here, and find that it was done for them.
    let flushing = Mutex<Void>(())

    struct Half {
        var epoch: UInt64 = 0
        /// The files that are not checkpointed since they had records here, with the sequence number of the last one.
        var users: [FileIdentity: UInt64] = [:]
        /// What the last *file* or *duplicate* record here says.
        var intents: [FileIdentity: Intent] = [:]
        /// The inodes of all files that have a *file* record here, dead or not.
        var owners: [FileIdentifier: UInt64] = [:]
        /// Files that can be made from records here alone, by the inode that they have.
        var uncommittedCreates: [UInt64: FileIdentity] = [:]
        /// Bytes from its beginning that have been written once.
        var filled: UInt64 = 0
    }

    /// What a *file* or *duplicate* record says.
    struct Intent: Sendable {
        /// From the root; empty where it could not be told.
        let path: [UInt8]
        let low: UInt64
        let high: UInt64
    }

    /// Where a payload lies in the journal.
    package struct Slot: Sendable {
        let offset: Int64
        let count: Int
        /// Of its record: durable once `flush(upTo:)` has been there.
        let sequence: UInt64

        /// From this payload to that of the next record, if one follows at once.
        var stride: Int { JournalRecord.byteCount(payload: count) }
    }

    struct State {
        var head: JournalHead
        var active = 0
        /// Where the next record begins in the active half.
        var position: UInt64 = 0
        var reserved: UInt64 = 0
        /// How many records there were, and how many of them are durable.
        var appended: UInt64 = 0
        var durable: UInt64 = 0
        /// A flush is behind `position`: no durable sector is written again.
        var isSealed = false
        var halves = [Half(), Half()]
        /// How records name the files whose own ID names another one.
        var aliases: [FileIdentity: FileIdentifier] = [:]
        /// After a flush that failed nobody knows what is on disk: nothing is promised any more.
        var failure: Errno?
        /// Its time of modification, which nobody is shown.
        var stamp: Int64 = .min
        /// Records that are about to be written.
        var buffer = [UInt8](repeating: 0, count: JournalRecord.byteCount(payload: JournalRecord.largestPayload))
    }

    /// Takes over the open journal, whose halves hold nothing that counts.
    init(store: any Store, keys: VolumeKeys, file: Descriptor, head: JournalHead) {
        self.store = store
        self.keys = keys
        self.file = file
        state = Mutex(State(head: head))
    }

    // MARK: Room

    /// Sets bytes aside for records, so that `append` finds room; false when a half must be freed first.
    func reserve(_ count: UInt64) throws(Errno) -> Bool {
        try state.withLock { state throws(Errno) in
            if let failure = state.failure { throw failure }
            precondition(count <= state.head.halfSize, "no half is large enough")
            let free = state.head.halfSize - state.position
            let other = state.halves[1 - state.active]
            guard
                state.reserved + count <= free
                    || (other.users.isEmpty && state.reserved + count <= state.head.halfSize)
            else { return false }
            state.reserved += count
            return true
        }
    }

    func unreserve(_ count: UInt64) {
        state.withLock { $0.reserved -= count }
    }

    /// The most that records with so many payload bytes in all can need.
    static func room(records: Int, payload: Int) -> UInt64 {
        UInt64(records * (JournalRecord.byteCount(payload: 0) + JournalRecord.sectorSize + 8) + payload)
    }

    /// The files of the half that is not written now: checkpointed, they free it.
    var usersOfOtherHalf: [FileIdentity: UInt64] {
        state.withLock { $0.halves[1 - $0.active].users }
    }

    /// The files that have records which may count.
    var users: [FileIdentity: UInt64] {
        state.withLock { $0.halves[1 - $0.active].users.merging($0.halves[$0.active].users) { max($0, $1) } }
    }

    /// A quarter of the active half is full and the other is in use: time to checkpoint, so that it is free when this
    /// one is full.
    var isLowOnSpace: Bool {
        state.withLock { state in
            !state.halves[1 - state.active].users.isEmpty && state.position > state.head.halfSize / 4
        }
    }
}
