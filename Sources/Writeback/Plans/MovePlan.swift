import Format

/// How a file gets another name, so that no crash leaves it under a name that it does not know.
package enum MoveWay {
    /// The header with the new binding is flushed before the name changes.
    case flushed
    /// The header with the new binding and the file's pending bindings are written, and not flushed. The store keeps
    /// the order of changes of metadata: if the new name is on disk, so are the pending bindings.
    case ordered
}

/// What a rename asks of a file.
package struct MoveRequest {
    /// The directory of the new name.
    package let folder: DirectoryIdentifier
    /// The bindings that the header will have; none for a file of too many links.
    package let bindings: [NameBinding]
    /// The new name is another file's, which the rename destroys.
    package let replaces: Bool
    package let takesClass: Bool
    /// The file has no other name.
    package let isOnlyLink: Bool

    package init(
        folder: DirectoryIdentifier, bindings: [NameBinding], replaces: Bool, takesClass: Bool, isOnlyLink: Bool
    ) {
        self.folder = folder
        self.bindings = bindings
        self.replaces = replaces
        self.takesClass = takesClass
        self.isOnlyLink = isOnlyLink
    }
}

extension FileState {
    /// How to make the move in a store that keeps the order of changes of metadata.
    ///
    /// Keeps: whatever name a crash leaves, the header on disk or the pending bindings have it; and what a crash leaves
    /// at a name that was another file's is that file or all of this one.
    ///
    /// - Parameter isStampSpent: a header that is written now gets no stamp that a copier can tell from the last one.
    package func way(of move: MoveRequest, isStampSpent: Bool) -> MoveWay {
        guard !isStampSpent else { return .flushed }
        // Replay finds a file by its name. The last header that made records dead must be on disk before that changes.
        guard !journal.hasRecords, durable.flushedGeneration >= journal.deadSince else { return .flushed }
        // With several links, a crash may find the file at a link that its header has, and lose the pending bindings.
        guard move.isOnlyLink, !header.bindings.isEmpty, !move.bindings.isEmpty else { return .flushed }
        // A sync of the folder in which the file was made puts its header into the journal: it must not miss the file.
        guard durable.flushed != .none || names.createdIn == move.folder else { return .flushed }
        // Pending bindings tell of no class: no header with two of them may be on disk.
        guard !move.takesClass, names.currentProtection == nil, !hasMovingHeader else { return .flushed }
        return move.replaces && !isWholeOnDisk ? .flushed : .ordered
    }

    /// Before the file loses one of several names, or a name of its passes to another file, the journal must know the
    /// file by none. A file that loses its last name keeps its records, until no crash brings the name back.
    package var mustCheckpointBeforeLosingAName: Bool { journal.hasRecords }

    /// A crash leaves all that was written, in place.
    private var isWholeOnDisk: Bool {
        durable.flushed == .flushed(durable.placed.generation) && sync.isDataSynced && header.length == length
            && sync.toldLength == length && repair.torn.isEmpty && !repair.isUnproven
    }

    /// A crash may leave a header that lacks the file's name: its pending bindings must stay.
    package var needsPending: Bool { names.pendingUntil > durable.flushedGeneration }

    /// A crash may leave a header with two classes.
    private var hasMovingHeader: Bool { names.lastMoving != 0 && durable.flushedGeneration <= names.lastMoving }

    /// What a crash may leave of the header is known to this state alone: it must not be forgotten before a flush.
    package var remembersHeaders: Bool { needsPending || hasMovingHeader }
}
