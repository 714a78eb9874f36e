import Format
import Posix

/// What a file is, how far its backing file and the journal are behind that, and what a crash must find meanwhile.
package struct FileState {
    /// The header as it will be written next, but for the provisional length and the generation.
    package var header: FileHeader
    /// The live length; the header's is the confirmed one.
    package var length: UInt64
    package var durable: DurableState
    package var journal: JournaledState
    package var names = NameState()
    package var times = ShownTimes()
    package var sync: SyncState
    package var repair: RepairState

    /// - Parameter status: of the backing file that has the header.
    package init(_ header: FileHeader, isNew: Bool, _ status: FileStatus) {
        self.header = header
        length = header.provisionalLength
        durable = DurableState(header, isNew: isNew)
        journal = JournaledState(
            mayHaveDuplicates: header.bindings.isEmpty || header.bindings.count > status.linkCount)
        sync = SyncState(toldLength: header.provisionalLength)
        repair = RepairState(header, size: status.size)
    }
}
