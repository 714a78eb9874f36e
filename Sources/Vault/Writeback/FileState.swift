import Format
import Posix

/// What a file is, how far its backing file and the journal are behind that, and what a crash must find meanwhile.
package struct FileState {
    /// The header as it will be written next, but for the provisional length and the generation.
    var header: FileHeader
    /// The live length; the header's is the confirmed one.
    var length: UInt64
    var durable: DurableState
    package var journal: JournaledState
    var names = NameState()
    var times = ShownTimes()
    var sync: SyncState
    var repair: RepairState

    /// - Parameter status: of the backing file that has the header.
    init(_ header: FileHeader, isNew: Bool, _ status: FileStatus) {
        self.header = header
        length = header.provisionalLength
        durable = DurableState(header, isNew: isNew)
        journal = JournaledState(
            mayHaveDuplicates: header.bindings.isEmpty || header.bindings.count > status.linkCount)
        sync = SyncState(toldLength: header.provisionalLength)
        repair = RepairState(header, size: status.size)
    }
}
