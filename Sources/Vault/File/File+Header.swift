import Crypto
import Format
import Keybag
import Posix
import Store
import Writeback

extension File {
    /// The backing file, open for writing; if it was opened for reading only, the first write opens it again. Needs
    /// `lock` exclusively.
    ///
    /// It opens a file even if its owner may not write to it: a rename writes the header of such a file too.
    func writable() throws(VaultError) -> Descriptor {
        if let writable = writableDescriptor { return writable }
        let writable = try vault.withOwnerPermissions(0o200, of: .file(descriptor)) { () throws(VaultError) in
            try backing { () throws(Errno) in try vault.store.reopen(descriptor, OpenFlags.write) }
        }
        writableDescriptor = writable
        return writable
    }

    /// Makes sure that the file can be written to. open(2) for writing calls this, so that it fails and not a later
    /// write.
    public func prepareToWrite() throws(VaultError) {
        try lock.withExclusive { () throws(VaultError) in _ = try writable() }
    }

    /// The 512 bytes of the header as `state` has it, with `times` in place of its own if they are given. Needs `lock`.
    func signedHeader(times: (modified: Timespec, changed: Timespec)? = nil) -> InlineArray<512, UInt8> {
        var header = state.header
        if let times {
            header.modified = FileTime(times.modified)
            header.changed = FileTime(times.changed)
        }
        header.provisionalLength = state.length
        header.machine = vault.machineNumber
        if let current = state.names.currentProtection {
            header.pending = header.protection
            header.protection = current
        }
        return header.signed(vault.keys)
    }

    /// Writes the header as `state` has it to the backing file: one sector, which a crash leaves old or new. Needs
    /// `lock` exclusively.
    ///
    /// - Parameter linkCount: how many names the backing file has, if that is known.
    func writeHeaderInPlace(linkCount: UInt64? = nil) throws(VaultError) {
        let file = try writable()
        state.willPlaceHeader()
        let bytes = signedHeader()
        do {
            try unsafe vault.store.write(bytes.span.bytes, to: file, at: 0)
        } catch { throw .system(error) }
        vault.flushes.headerWrites.add(1, ordering: .releasing)
        state.header.machine = vault.machineNumber
        state.didPlaceHeader()
        if linkCount != 0 { notePlacedHeader(linkCount: linkCount) }
    }

    /// Writes the header as `state` has it. Of what stat(2) shows, only the time of change moves. Needs `lock`
    /// exclusively, and room in the journal.
    func writeHeader() throws(VaultError) {
        try writeHeader(to: state.placeOfHeader(isStampSpent: isStampSpent))
    }

    func writeHeader(to place: FileState.HeaderPlace) throws(VaultError) {
        switch place {
        case .backingFile: try writeStampedHeader()
        case .journal: try journalHeader()
        }
    }

    /// Changes the header, or leaves it as it was. Needs `lock` exclusively, and room in the journal.
    func changeHeader(_ change: (inout FileHeader) -> Void) throws(VaultError) {
        let before = state.header
        change(&state.header)
        state.sync.needsHeaderSync()
        do {
            try writeHeader()
        } catch {
            state.header = before
            // A step before the records may have put a header in place: no later generation may be below that one's.
            state.header.generation = max(before.generation, state.durable.placed.generation)
            throw error
        }
    }

    /// From now on each growth of the length is in a header before it is acknowledged: the kernel will not report
    /// close(2).
    public func keepLengths() { marks.keepsLengths.store(true, ordering: .relaxed) }

    /// After a change: writes a header with the length, if `keepLengths` demands it. In the backing file this header is
    /// not stamped: a copier that compares size and time sees the growth by the size, and the header that follows the
    /// last change is stamped. Needs `lock` exclusively, and room in the journal.
    func keepLength() throws(VaultError) {
        guard marks.keepsLengths.load(ordering: .relaxed), let place = state.headerAfterChange else { return }
        if place == .journal { return try journalHeader() }
        if let modified = state.times.modified { state.header.modified = FileTime(modified) }
        if let touched = state.times.touched { state.header.changed = FileTime(touched) }
        state.header.written = FileTime(.tick)
        try writeHeaderInPlace()
        state.sync.needsHeader()
    }

    /// Writes the header if it is not current, for example after the length grew. close(2) does this.
    public func persistLength() throws(VaultError) {
        guard lock.withShared({ state.headerAtClose(isStampSpent: isStampSpent) }) != nil, !vault.isReadOnly else {
            return
        }
        try withRoom(Journal.roomForFile) { (_) throws(VaultError) in
            if let place = state.headerAtClose(isStampSpent: isStampSpent) { try writeHeader(to: place) }
            return true
        }
    }
}

extension FileHeader {
    /// The 512 bytes of a header.
    func signed(_ keys: VolumeKeys) -> InlineArray<512, UInt8> {
        var bytes: InlineArray<512, UInt8> = .init(repeating: 0)
        do {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            encode(into: &span)
        }
        let tag = keys.headers.tag(of: unsafe bytes.span.bytes.extracting(0..<FileHeader.signedByteCount))
        for (index, byte) in tag.enumerated() { bytes[FileHeader.signedByteCount + index] = byte }
        return bytes
    }
}
