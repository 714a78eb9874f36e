import Format
import Posix

/// How far a file's backing file is behind what was written to the file, and what a crash must find unharmed there.
package struct WritebackState {
    /// The confirmed length in the header as it was last written to the backing file: it says how long a block that
    /// lies there below it is.
    var inPlaceLength: UInt64 = 0
    /// The generation of that header.
    var inPlaceGeneration: UInt64 = 0
    /// Its stamp.
    var inPlaceStamp: Int64 = 0
    /// The generation that is on disk at least; 0 if no header need be there yet. A crash finds this one, the one
    /// above, or one between.
    var durableGeneration: UInt64 = 0
    /// That is what was found when the file was opened, and need not be on disk: whoever had it open before has written
    /// it, and perhaps nobody has flushed it since.
    var isAssumedDurable = false
    /// The length that the last header says that was written, to the backing file or the journal.
    var toldLength: UInt64 = 0
    /// Blocks that hold bytes below this are never written in the backing file but by a checkpoint: a header that says
    /// so may be on disk, there or in the journal.
    var durableEnd: UInt64 = 0
    /// `durableEnd`, counting only headers since the last one that was written to the backing file.
    var durableEndSinceHeader: UInt64 = 0

    /// What was last truncated from the backing file may be there again after a power loss.
    var truncation = Truncation.durable

    enum Truncation {
        case durable
        /// It may be, and nobody was told otherwise.
        case unsynced
        /// A sync has said that it is gone: the file may not grow over it before a flush.
        case synced
    }

    /// Records of this file stand in the journal on top of the header in the backing file, which from then on is only
    /// written by a checkpoint.
    var isJournaled = false
    /// Others may have its ID and a generation that the journal takes for one of this file.
    var mayHaveDuplicates = false
    /// Blocks that lie in the journal and not in the backing file.
    package var slots: [UInt64: Journal.Slot] = [:]
    /// Blocks that are holes according to the journal, where the backing file still has what was there, unless they
    /// have been written since.
    var holes = RangeSet<UInt64>()
    /// How long those make the backing file of a vault that is only read, with a hole before them perhaps.
    var pendingSize: UInt64 = 0
    /// Blocks that lie nowhere as a whole: a full disk has stopped their writing in the middle.
    var torn: [UInt64: [UInt8]] = [:]
    /// The last record of the file in the journal.
    var sequence: UInt64 = 0
    /// The last record that the header in the backing file has made dead.
    var inPlaceSequence: UInt64 = 0
    /// No header stands behind the last blocks in the journal yet: they do not count.
    var isHeaderless = false
    /// The header in `sequence`'s record, or in the backing file, is as the file is now.
    var isHeaderCurrent = true
    /// All that was written is durable once the journal is, up to `sequence`.
    var isSynced = false
    /// Nothing was written since it was last confirmed.
    var isDataSynced = true
    /// When it was last written to, if the backing file does not tell.
    var modified: Timespec?

    /// When it was last changed, if the backing file does not tell.
    var touched: Timespec?
    /// What is shown as the time of change while the backing file's is that of what was last done to it unseen.
    var change: (shown: Timespec, backing: Timespec)?

    /// Folders whose names must be durable before the file may cease to belong at `bindings` that it has left, and
    /// before the journal may know it by a new one.
    var movedIn: [Descriptor] = []
    /// The bindings that are left then.
    var finalBindings: [NameBinding]?
    /// The class and wrap that hold where the file stood before a rename that took over another class.
    var currentProtection: FileProtection?
    /// The folder that it was made in, until its header is durable.
    var createdIn: DirectoryIdentifier?
    /// It has no name any more.
    var isRemoved = false
    /// The folder that its last name was in, if that is known.
    var removedFrom: Descriptor?
    /// No crash gives that name back.
    var isRemovalDurable = false

    /// Among the files that the vault will checkpoint.
    var isListed = false
    /// Grows with each checkpoint, each truncation, and when bindings are left: who has flushed meanwhile does not know
    /// what that confirms.
    var round: UInt64 = 0
    /// Grows with each change.
    var changes: UInt64 = 0

    /// The backing file was flushed when its header had this generation, or a later one.
    mutating func noteDurable(_ generation: UInt64) {
        durableGeneration = max(durableGeneration, generation)
        isAssumedDurable = false
    }

    /// Blocks below this one hold bytes below the durable end.
    var durableBlocks: UInt64 { BlockGeometry.blockCount(forLength: durableEnd) }
    /// Blocks below this one lie in the backing file as long as `inPlaceLength` makes them.
    var inPlaceBlocks: UInt64 { BlockGeometry.blockCount(forLength: inPlaceLength) }
}
