import Format
import Freshness
import Posix
import Store
import Writeback

extension File {
    /// Takes over what another machine has done to the file: reads the header again. All that this machine has written
    /// is in place, and no request uses the file.
    ///
    /// - Throws: EBUSY if something of the file waits for a checkpoint.
    func reload() throws(VaultError) {
        try lock.withExclusive { () throws(VaultError) in
            guard !state.sync.isListed else { throw .system(.EBUSY) }
            mayBeRenamed = true
            let placed = try vault.readHeader(of: descriptor)
            guard placed.file == identifier else { throw .damaged("another file has taken the place of this one") }
            let status = try backing { () throws(Errno) in try vault.store.status(of: descriptor) }
            // Attributes are no part of the header.
            marks.mayHaveCapabilities.store(true, ordering: .relaxed)
            let isSame =
                placed.generation == state.durable.placed.generation && placed.machine == state.header.machine
            guard !isSame else {
                // A machine that has died may have written behind the end, without a header that says so.
                let isLonger = UInt64(status.size) > BlockGeometry.backingSize(forLength: state.length)
                if isLonger { state.repair.mayHaveTail() }
                return state.durable.assumeFlushed()
            }
            // A machine that has died may have left two classes: by which name the file is found next is not known.
            var header = placed
            header.resolveStrictly()
            let isSameKey = header.protection.wrap == state.header.protection.wrap
            state = FileState(header, isNew: false, status)
            if !isSameKey { key.withLock { $0 = nil } }
            (rewritten, newestRewritten) = (BlockBounds(), 0)
            noteFoundHeader()
            for key in markKeys {
                state.durable.surpass(min(vault.ownGeneration(at: key), Marks.highestGeneration))
            }
        }
    }
}
