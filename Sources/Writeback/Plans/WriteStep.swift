/// One act of the write path. `FileState` plans the acts, without doing any of them; who carries them out, in the store
/// or in a model of one, tells the state of each by an event.
///
/// All are done under the file's lock, held exclusively.
package enum WriteStep: Hashable, Sendable {
    // MARK: Names

    /// Flushes the folders in which the file's names have changed. Event: `didFlushFolders`.
    case flushFolders
    /// Makes it durable that the file has lost its last name. Event: `names.didFlushRemoval`.
    case flushRemoval

    // MARK: The journal

    /// Gives the file a generation that no duplicate has or will reach: writes the header, and flushes it. Events:
    /// `willPlaceHeader`, `didPlaceHeader`, `didFlush`, `journal.didDistinguish`.
    case leap
    /// Appends the record by which replay finds the file; first it flushes the file if its path is not known. Events:
    /// `journal.didAppendIntent`, or `names.didFindNoName`.
    case declareIntent
    /// Appends the header. Event: `didAppendHeader`.
    case appendHeader
    /// Appends all blocks that no header has confirmed, and behind them a header that confirms all of the file. Events:
    /// `confirm`, `didAppendHeader`.
    case appendFreshBlocks
    case flushJournal
    /// The journal may forget records that are dead.
    case releaseRecords

    // MARK: The backing file

    /// Writes the blocks that lie nowhere as a whole. Event: `repair.didWrite`.
    case writeTorn
    /// Copies blocks and holes out of the journal, and leaves the records there.
    case copyIntoPlace
    case dropSummary
    /// Flushes the contents and the header; with `all`, also names, attributes and times. Event: `didFlush`.
    case flush(all: Bool)
    /// Writes the header as it is. Events: `willPlaceHeader`, `didPlaceHeader`.
    case placeHeader
    /// Writes the header on top of blocks that are durable in place. Events: `willPlaceCheckpoint`, those of
    /// `placeHeader`, and `didPlaceCheckpoint`.
    case placeCheckpoint
    /// Writes the placed header once more, so that it confirms all of the file. Events: `willConfirmPlacedHeader`,
    /// `confirm`, `didConfirmPlacedHeader`.
    case confirmPlacedHeader
    /// Truncates what lies behind the file's end, and flushes that. Event: `durable.didFlushTruncation`.
    case cutTail

    // MARK: Memory

    /// From now on nothing below the length is overwritten in place. Event: `raiseEnd`.
    case raiseEnd
    /// All that was written is durable, or will be with what follows. Events: `confirm`, `sync.didConfirmContents`.
    case confirm
    /// Blocks behind the checkpointed header may be overwritten in place. Event: `durable.lowerEnd`.
    case lowerEnd
    /// Takes the file off the list of those that wait for a checkpoint, if it waits for nothing.
    case unlist
}
