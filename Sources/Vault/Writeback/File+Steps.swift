import Posix
import Writeback

extension File {
    func perform(_ steps: [WriteStep], copied ahead: JournaledBlocks = [:]) throws(VaultError) {
        for step in steps { try perform(step, copied: ahead) }
    }

    /// Carries a planned step out, and tells the state. Needs `lock` exclusively.
    ///
    /// - Parameters:
    ///   - replaced: the time of modification of the backing file that this one is about to replace.
    ///   - ahead: the blocks that are in place already.
    func perform(
        _ step: WriteStep, replacing replaced: Timespec? = nil, copied ahead: JournaledBlocks = [:]
    ) throws(VaultError) {
        switch step {
        case .flushFolders: try flushFolders()
        case .flushRemoval: try flushRemoval()
        case .leap: try leap()
        case .declareIntent: try declareIntent()
        case .appendHeader: try appendMissingHeader()
        case .appendFreshBlocks: try appendFreshBlocks()
        case .flushJournal: try flushJournal(upTo: state.journal.sequence)
        case .releaseRecords: try releaseRecords()
        case .writeTorn: try writeTornInPlace()
        case .copyIntoPlace: try copyIntoPlace(but: ahead)
        case .dropSummary: try dropSummary()
        case .flush(let all):
            try flush(dataOnly: !all)
            state.didFlush()
        case .placeHeader: try writeStampedHeader()
        case .placeCheckpoint: try placeCheckpoint(replacing: replaced)
        case .confirmPlacedHeader: try confirmPlacedHeader()
        case .cutTail: try truncateBackingFile(isConfirmed: true)
        case .raiseEnd: state.raiseEnd()
        case .confirm: state.didConfirm()
        case .lowerEnd: state.durable.lowerEnd()
        case .unlist: unlistIfDone()
        }
    }

    func flushJournal(upTo sequence: UInt64) throws(VaultError) {
        try backing { () throws(Errno) in try vault.openJournal().flush(upTo: sequence) }
    }
}
