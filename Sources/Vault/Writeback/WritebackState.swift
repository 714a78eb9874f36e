import Format
import Posix

/// How far a backing file is behind what was written to its file, and what a crash must find unharmed in it.
package struct WritebackState {
    /// The confirmed length in the header that was last written to the backing file. It tells how long a block is that
    /// lies there below it.
    var inPlaceLength: UInt64 = 0
    /// The generation of that header.
    var inPlaceGeneration: UInt64 = 0
    /// The stamp of that header.
    var inPlaceStamp: Int64 = 0
    /// The generation that is on disk at least; 0 if no header need be there yet. A crash finds this one,
    /// `inPlaceGeneration`, or one between.
    var durableGeneration: UInt64 = 0
    /// `durableGeneration` is what was found when the file was opened, and may not be on disk: an earlier `File` wrote
    /// it, perhaps without a flush since.
    var isAssumedDurable = false
    /// The told length: the provisional length in the last header that was written, to the backing file or the journal.
    var toldLength: UInt64 = 0
    /// The durable end. Only a checkpoint overwrites blocks that hold bytes below it in the backing file: a header on
    /// disk, there or in the journal, may confirm them, or a flush under way is about to be followed by one that does.
    var durableEnd: UInt64 = 0
    /// As `durableEnd`, but only for the last header in the backing file, and for headers and flushes since.
    var durableEndSinceHeader: UInt64 = 0

    /// Whether a power loss may bring back what was last truncated from the backing file.
    var truncation = Truncation.durable

    enum Truncation {
        case durable
        /// It may, and no sync has acknowledged the truncation.
        case unsynced
        /// A sync has acknowledged the truncation: the file may not grow over it before a flush.
        case synced
    }

    /// The journal has records of this file on top of the header in the backing file. From then on only a checkpoint
    /// writes that header.
    var isJournaled = false
    /// Duplicates may exist: other files with this ID, and a generation that the journal takes for one of this file.
    var mayHaveDuplicates = false
    /// Blocks that lie in the journal and not in the backing file.
    package var journaledBlocks: [UInt64: Journal.Extent] = [:]
    /// Blocks that are holes according to the journal, unless they have been written since. The backing file still has
    /// their old contents.
    var holes = RangeSet<UInt64>()
    /// How long `slots` and `holes` make the backing file of a read-only vault, perhaps with a hole before them.
    var pendingSize: UInt64 = 0
    /// Blocks that lie nowhere as a whole: a full disk has stopped their write in the middle.
    var torn: [UInt64: [UInt8]] = [:]
    /// The sequence number of the file's last record in the journal.
    var sequence: UInt64 = 0
    /// The sequence number of the last record that the header in the backing file has made dead.
    var inPlaceSequence: UInt64 = 0
    /// No header follows the last blocks in the journal yet: they do not count.
    var isHeaderless = false
    /// The header in the record `sequence`, or the one in the backing file, is as the file is now.
    var isHeaderCurrent = true
    /// All that was written is durable once the journal is flushed up to `sequence`.
    var isSynced = false
    /// Nothing was written since the last confirmation.
    var isDataSynced = true
    /// The time of the last write, if the backing file does not tell it.
    var modified: Timespec?

    /// The time of the last change, if the backing file does not tell it.
    var touched: Timespec?
    /// The time of change to show while the backing file's is that of an operation that stat(2) must not show.
    var change: (shown: Timespec, backing: Timespec)?

    /// Folders that must be durable before the header may forget the old bindings, and before the journal may know the
    /// file by a new path.
    var movedIn: [Descriptor] = []
    /// The bindings that the header has after that.
    var finalBindings: [NameBinding]?
    /// The class and the wrap at the old name, after a rename that took over another class.
    var currentProtection: FileProtection?
    /// The folder that the file was made in, until its header is durable.
    var createdIn: DirectoryIdentifier?
    /// The file has no name any more.
    var isRemoved = false
    /// The folder that its last name was in, if that is known.
    var removedFrom: Descriptor?
    /// No crash brings that name back.
    var isRemovalDurable = false

    /// The file is on the vault's dirty list.
    var isListed = false
    /// Grows with each checkpoint, with each truncation, and when old bindings are forgotten: a flush that began in an
    /// earlier round does not know what it confirms.
    var round: UInt64 = 0
    /// Grows with each change.
    var changes: UInt64 = 0

    /// Notes that the backing file was flushed when its header had this generation or a later one.
    mutating func noteDurable(_ generation: UInt64) {
        durableGeneration = max(durableGeneration, generation)
        isAssumedDurable = false
    }

    /// Blocks below this one hold bytes below the durable end.
    var durableBlocks: UInt64 { BlockGeometry.blockCount(forLength: durableEnd) }
    /// Blocks below this one are as long in the backing file as `inPlaceLength` says.
    var inPlaceBlocks: UInt64 { BlockGeometry.blockCount(forLength: inPlaceLength) }
}
