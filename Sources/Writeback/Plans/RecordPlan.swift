extension FileState {
    /// What comes next before the journal may have records of the file; nil if it may, or if the file has no name.
    ///
    /// Keeps: replay finds the file by the name that the intent has, and by a generation that no crash can take back
    /// and that no duplicate has.
    package var nextStepToRecords: WriteStep? {
        guard names.removal == .named, !journal.hasRecords else { return nil }
        // A crash must not find the file under another name than the one that the journal has.
        if names.hasChanges { return .flushFolders }
        // A copier that does not know of hard links makes several files of one, with one ID: replay must not apply the
        // records of one to another.
        if journal.mayHaveDuplicates { return .leap }
        // If the header is in the page cache alone, a crash leaves an older one, which no record fits.
        if case .assumed = durable.flushed { return .flush(all: false) }
        return .declareIntent
    }

    /// What comes next before a file without a name is written to in place; nil if it has one, or none for good.
    ///
    /// Keeps: a crash that brings the name back finds what was synced under it.
    package var nextStepToRemoval: WriteStep? {
        guard names.removal == .removed else { return nil }
        // No crash may bring back an earlier name either.
        return names.hasChanges ? .flushFolders : .flushRemoval
    }

    /// A crash may leave no header of the file. Replay then makes the file from its records alone, under its path.
    package var mayLackHeader: Bool { durable.flushedGeneration == 0 }

    /// A sync of the folder that the file was made in puts its header into the journal.
    ///
    /// Keeps: a durable name has a file.
    package var mustTellOfCreation: Bool { mayLackHeader && journal.records != .complete }

    /// Where a header goes that is written now.
    package enum HeaderPlace { case backingFile, journal }

    /// - Parameter isStampSpent: a header in the backing file would get no stamp that a copier can tell from the last.
    ///
    /// Keeps: while there are records, only a checkpoint places a header, which would make them dead.
    package func placeOfHeader(isStampSpent: Bool) -> HeaderPlace {
        journal.hasRecords || isStampSpent ? .journal : .backingFile
    }

    /// What a change has to write before it is acknowledged, where the kernel does not report close(2): nil if the last
    /// header tells of the length.
    ///
    /// Keeps: a killed daemon loses nothing that was acknowledged.
    package var headerAfterChange: HeaderPlace? {
        guard !sync.isHeaderCurrent, length != sync.toldLength else { return nil }
        return journal.hasRecords ? .journal : .backingFile
    }

    /// What a change of times has to write; nil if the header that close(2) writes tells of it soon enough.
    ///
    /// Keeps: a killed daemon loses no time that was set, but for a file that is open and has records.
    package func headerAfterTimes(keepsLengths: Bool, isStampSpent: Bool) -> HeaderPlace? {
        journal.hasRecords && !keepsLengths ? nil : placeOfHeader(isStampSpent: isStampSpent)
    }

    /// What close(2) has to write; nil if the last header tells of the file as it is.
    ///
    /// Keeps: a killed daemon loses nothing of a closed file.
    package func headerAtClose(isStampSpent: Bool) -> HeaderPlace? {
        sync.isHeaderCurrent ? nil : placeOfHeader(isStampSpent: isStampSpent)
    }

    /// Whether a summary is set after a header was placed. It takes the place of pending bindings, and tells of one
    /// name, one class and one length.
    ///
    /// Keeps: pending bindings stay as long as a crash may need them.
    package func allowsSummary(isOnlyLink: Bool) -> Bool {
        isOnlyLink && names.currentProtection == nil && header.length == length && !needsPending
    }
}
