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
            let placed = try vault.readHeader(of: descriptor)
            guard placed.file == identifier else { throw .damaged("another file has taken the place of this one") }
            let status = try backing { () throws(Errno) in try vault.store.status(of: descriptor) }
            // Attributes are no part of the header.
            marks.mayHaveCapabilities.store(true, ordering: .relaxed)
            guard placed.generation != state.durable.placed.generation || placed.machine != state.header.machine else {
                return state.durable.assumeFlushed()
            }
            let binding = try self.binding(in: placed)
            let header = binding.map { placed.resolved(at: $0) } ?? placed
            let isSameKey = header.protection.wrap == state.header.protection.wrap
            state = FileState(header, isNew: false, status)
            if let binding { state.names.didFind(placed, at: binding, isOnlyLink: status.linkCount == 1) }
            if !isSameKey { key.withLock { $0 = nil } }
            (rewritten, newestRewritten) = (BlockBounds(), 0)
            noteFoundHeader()
            for key in markKeys {
                state.durable.surpass(min(vault.ownGeneration(at: key), Marks.highestGeneration))
            }
        }
    }

    /// Where the file belongs, if a crash came in the middle of a rename: under the name by which it was known here, as
    /// long as the header has that. Nil if the header says the same of all its names.
    private func binding(in placed: FileHeader) throws(VaultError) -> NameBinding? {
        guard placed.pending != nil else { return nil }
        for binding in state.header.bindings where placed.belongs(at: binding) { return binding }
        throw .system(.ESTALE)
    }
}
