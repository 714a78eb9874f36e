import Crypto
import Format
import Posix
import Store

extension File {
    /// The backing file, open for writing: as it was opened, or else from the first write on. Needs `lock` exclusively.
    ///
    /// Also a file that its owner may not write to: renaming it writes its header.
    func writable() throws(VaultError) -> Descriptor {
        if let writable = state.writable { return writable }
        let writable = try vault.withOwnerPermissions(0o200, of: .file(descriptor)) { () throws(VaultError) in
            try backing { () throws(Errno) in try vault.store.reopen(descriptor, OpenFlags.write) }
        }
        state.writable = writable
        return writable
    }

    /// Makes sure that the file can be written to: what open(2) for writing does, so that it fails there and then.
    public func prepareToWrite() throws(VaultError) {
        try lock.withExclusive { () throws(VaultError) in _ = try writable() }
    }

    /// The 512 bytes of the header as `state` has it. Needs `lock`.
    func signedHeader() -> InlineArray<512, UInt8> {
        var header = state.header
        header.provisionalLength = state.length
        if let leaving = state.unsettled.leaving {
            header.coming = header.protection
            header.protection = leaving
        }
        var bytes: InlineArray<512, UInt8> = .init(repeating: 0)
        do {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            header.encode(into: &span)
        }
        let tag = vault.keys.headers.tag(of: unsafe bytes.span.bytes.extracting(0..<FileHeader.signedByteCount))
        for (index, byte) in tag.enumerated() { bytes[FileHeader.signedByteCount + index] = byte }
        return bytes
    }

    /// Writes the header as `state` has it to the backing file: one sector, which a cut leaves old or new. Needs `lock`
    /// exclusively.
    func placeHeader() throws(VaultError) {
        let file = try writable()
        state.header.generation += 1
        let bytes = signedHeader()
        // A header that may be on disk guards what it confirms.
        state.unsettled.guarded = max(state.unsettled.guarded, state.header.length)
        do {
            try unsafe vault.store.write(bytes.span.bytes, to: file, at: 0)
        } catch { throw .system(error) }
        state.unsettled.placedLength = state.header.length
        state.unsettled.placedGeneration = state.header.generation
        state.unsettled.isHeaderCurrent = true
    }

    /// Writes the header as `state` has it, and nothing that stat(2) shows but the time of change. Needs `lock`
    /// exclusively, and room in the journal.
    func writeHeader() throws(VaultError) {
        if state.unsettled.isJournaled { return try journalHeader() }
        let status = try backing { () throws(Errno) in try vault.store.status(of: descriptor) }
        _ = try writable()
        try vault.keepingSetID(of: descriptor) { () throws(VaultError) in try placeHeader() }
        // The change is done. A file that shows the wrong time is better than one whose memory differs from its disk.
        try? vault.store.setTimes(accessed: .keep, modified: .at(status.modified), of: descriptor)
    }

    /// Changes the header, all or nothing. Needs `lock` exclusively, and room in the journal.
    func changeHeader(_ change: (inout FileHeader) -> Void) throws(VaultError) {
        let before = state.header
        change(&state.header)
        state.unsettled.isSynced = false
        do {
            try writeHeader()
        } catch {
            state.header = before
            throw error
        }
    }

    /// Writes a length that grew since the last time. What close(2) does.
    public func persistLength() throws(VaultError) {
        guard lock.withShared({ !state.unsettled.isHeaderCurrent }), !vault.isReadOnly else { return }
        try withRoom(Journal.roomForFile) { (_) throws(VaultError) in
            if !state.unsettled.isHeaderCurrent { try writeHeader() }
            return true
        }
    }

    /// Makes all that was written durable, with the length that covers it. Unless `dataOnly`, what stat(2) says too.
    public func synchronize(dataOnly: Bool) throws(VaultError) {
        guard !vault.isReadOnly else { return }
        guard dataOnly else {
            // The bulk of it without the lock, so that nobody waits for it.
            if lock.withShared({ freshBlocks }) > Self.mostMirrored {
                try backing { () throws(Errno) in try vault.store.synchronize(descriptor, dataOnly: true) }
            }
            return try lock.withExclusive { () throws(VaultError) in try settleAlone(all: true) }
        }
        while true {
            let (fresh, sequence) = lock.withShared {
                (freshBlocks, state.unsettled.isSynced ? state.unsettled.sequence : nil)
            }
            if let sequence {
                return try backing { () throws(Errno) in try vault.openJournal().flush(upTo: sequence) }
            }
            if try fresh > Self.mostMirrored ? confirmInPlace() : confirmInJournal() { return }
        }
    }

    /// So many blocks are rather copied into the journal than flushed where they are: one flush instead of two.
    static let mostMirrored: UInt64 = 32

    /// Blocks that no durable header covers. Needs `lock`.
    private var freshBlocks: UInt64 {
        let (all, guarded) = (BlockGeometry.blockCount(forLength: state.length), state.unsettled.guardedBlocks)
        return all > guarded ? all - guarded : 0
    }

    /// False if there is more to copy than was thought.
    private func confirmInJournal() throws(VaultError) -> Bool {
        var sequence: UInt64 = 0
        var isDone = true
        try withRoom(Journal.roomForFile + Journal.roomForBlocks(Int(Self.mostMirrored))) { (_) throws(VaultError) in
            try placeTorn()
            guard freshBlocks <= Self.mostMirrored else {
                isDone = false
                return true
            }
            guard try backing({ () throws(Errno) in try beginRecords() }) else {
                state.unsettled.isSynced = true
                return true
            }
            let fresh = state.unsettled.guardedBlocks..<state.unsettled.guardedBlocks + freshBlocks
            // What was written over has its header behind it already.
            if !fresh.isEmpty || state.header.length != state.length || !state.unsettled.isHeaderCurrent
                || !state.unsettled.isJournaled
            {
                try confirming(state.length) { () throws(VaultError) in
                    // The cipher is not used: what is copied is encrypted.
                    try vault.scratches.withIdleScratch { (scratch) throws(VaultError) in try mirror(fresh, scratch) }
                }
            }
            state.unsettled.isSynced = true
            state.unsettled.isDataSynced = true
            if state.unsettled.cut == .unsynced { state.unsettled.cut = .synced }
            sequence = state.unsettled.sequence
            return true
        }
        if isDone { try backing { () throws(Errno) in try vault.openJournal().flush(upTo: sequence) } }
        return isDone
    }

    /// False if the file was cut meanwhile.
    private func confirmInPlace() throws(VaultError) -> Bool {
        let before = try lock.withExclusive { () throws(VaultError) in
            try placeTorn()
            guardAll()
            return (
                length: state.length, state.unsettled.placedGeneration, state.unsettled.round, state.unsettled.changes
            )
        }
        try backing { () throws(Errno) in try vault.store.synchronize(descriptor, dataOnly: true) }
        var sequence: UInt64 = 0
        var isDone = true
        try withRoom(2 * Journal.roomForFile) { (_) throws(VaultError) in
            guard state.unsettled.round == before.2 else {
                isDone = false
                return true
            }
            if state.unsettled.durableGeneration == 0 {
                state.unsettled.durableGeneration = before.1
                // The journal must not say any more that it has all of the file.
                state.unsettled.isJournaled = false
            }
            try confirming(before.length) { () throws(VaultError) in try journalHeader() }
            state.unsettled.isSynced = state.unsettled.changes == before.3
            state.unsettled.isDataSynced = state.unsettled.isSynced
            if state.unsettled.cut == .unsynced { state.unsettled.cut = .synced }
            sequence = state.unsettled.sequence
            return true
        }
        if isDone { try backing { () throws(Errno) in try vault.openJournal().flush(upTo: sequence) } }
        return isDone
    }

    /// From now on nothing that lies in the backing file is written over; what is there can be flushed and
    /// confirmed.
    func guardAll() {
        state.unsettled.guarded = max(state.unsettled.guarded, state.length)
        state.unsettled.guardedSince = max(state.unsettled.guardedSince, state.length)
    }

    /// Confirms what is below `length` by the header that `body` appends to the journal, or not at all.
    private func confirming(_ length: UInt64, _ body: () throws(VaultError) -> Void) throws(VaultError) {
        let before = state.header.length
        confirm(length)
        do throws(VaultError) { try body() } catch {
            state.header.length = before
            throw error
        }
    }

    /// All below `length` is durable, or in the journal before the header that will say so.
    func confirm(_ length: UInt64) {
        guard !state.isUnproven else { return }
        state.header.length = max(state.header.length, length)
        state.unsettled.guarded = max(state.unsettled.guarded, length)
        state.unsettled.guardedSince = max(state.unsettled.guardedSince, length)
    }
}
