import Crypto
import Format
import Posix
import Store

extension Vault {
    /// The header of a backing file, authentic and of this volume.
    func readHeader(of descriptor: Descriptor) throws(VaultError) -> FileHeader {
        var bytes: InlineArray<512, UInt8> = .init(repeating: 0)
        let count: Int
        do {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            count = try store.read(descriptor, into: &span, at: 0)
        } catch { throw .system(error) }
        return try header(from: unsafe bytes.span.bytes.extracting(0..<count))
    }

    /// The header that `raw` begins with, authentic and of this volume.
    func header(from raw: RawSpan) throws(VaultError) -> FileHeader {
        guard raw.byteCount >= FileHeader.byteCount else { throw .damaged("shorter than a header") }
        let header: FileHeader
        do { header = try FileHeader(decoding: raw) } catch { throw .damaged("header: \(error)") }
        guard header.volume == keys.volume else { throw .damaged("a file of another vault") }
        let signed = raw.extracting(0..<FileHeader.signedByteCount)
        let tag = raw.extracting(FileHeader.signedByteCount..<FileHeader.byteCount)
        guard keys.headers.verify(tag, of: signed) else { throw .damaged("the header was changed") }
        return header
    }

    /// Opens a file's backing file for reading, also one that its owner may not read: its header is metadata.
    func openBacking(_ name: Name, in directory: Directory) throws(VaultError) -> Descriptor {
        try withOwnerPermissions(0o400, of: .entry(name, in: directory.descriptor)) { () throws(VaultError) in
            try backing { () throws(Errno) in
                try store.open(name, in: directory.descriptor, OpenFlags.read, mode: 0)
            }
        }
    }

    /// Opens a file's backing file for writing too; nil where that is not allowed just like that.
    func openWritableBacking(_ name: Name, in directory: Directory) throws(VaultError) -> Descriptor? {
        guard !isReadOnly else { return nil }
        do {
            return try store.open(name, in: directory.descriptor, OpenFlags.readWrite, mode: 0)
        } catch {
            guard error == .EACCES || error == .EPERM || error == .EROFS else { throw .system(error) }
            return nil
        }
    }
}

extension File {
    /// After this time the kernel may have brought a file to the disk that nobody synced: ext4 commits every 5 s.
    private static let freshTime = Duration.seconds(4)

    /// When the file was made, unless it was synced since: then, or when it was opened from disk, nil.
    public var freshSince: ContinuousClock.Instant? { lock.withShared { state.freshSince } }

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

    /// Writes the header as `state` has it. Needs `lock` exclusively.
    func writeHeader() throws(VaultError) {
        let file = try writable()
        state.header.generation += 1
        var bytes: InlineArray<512, UInt8> = .init(repeating: 0)
        do {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            state.header.encode(into: &span)
        }
        let tag = vault.keys.headers.tag(of: unsafe bytes.span.bytes.extracting(0..<FileHeader.signedByteCount))
        for (index, byte) in tag.enumerated() { bytes[FileHeader.signedByteCount + index] = byte }
        do {
            try unsafe vault.store.write(bytes.span.bytes, to: file, at: 0)
        } catch { throw .system(error) }
    }

    /// Changes the header and nothing that stat(2) shows but the time of change; all or nothing. Needs `lock`
    /// exclusively.
    func changeHeader(_ change: (inout FileHeader) -> Void) throws(VaultError) {
        let status = try backing { () throws(Errno) in try vault.store.status(of: descriptor) }
        let before = state.header
        change(&state.header)
        do {
            _ = try writable()
            try vault.keepingSetID(of: descriptor) { () throws(VaultError) in try writeHeader() }
        } catch {
            state.header = before
            throw error
        }
        // The change is done. A file that shows the wrong time is better than one whose memory differs from its disk.
        try? vault.store.setTimes(accessed: .keep, modified: .at(status.modified), of: descriptor)
    }

    /// Changes the header durably before something else makes the change visible: a new name must never be on disk
    /// before the header that allows it. Needs `lock` exclusively.
    private func changeHeaderFirst(_ change: (inout FileHeader) -> Void) throws(VaultError) {
        try changeHeader(change)
        // What was made a moment ago and never synced is on no disk yet: a cut may take it with its name.
        if let since = state.freshSince, ContinuousClock.now - since < Self.freshTime { return }
        try backing { () throws(Errno) in try vault.store.synchronize(descriptor, dataOnly: true) }
    }

    /// Writes a length that grew since the last time. What close(2) does.
    public func persistLength() throws(VaultError) {
        guard lock.withShared({ state.length != state.header.length }) else { return }
        try lock.withExclusive { () throws(VaultError) in
            let length = state.length
            guard length != state.header.length else { return }
            try changeHeader { $0.length = length }
        }
    }

    /// Makes all that was written durable; then the length that covers it, durably too.
    public func synchronize(dataOnly: Bool) throws(VaultError) {
        let covered = lock.withShared { state.length }
        try backing { () throws(Errno) in try vault.store.synchronize(descriptor, dataOnly: dataOnly) }
        let changed = try lock.withExclusive { () throws(VaultError) in
            state.freshSince = nil
            // It may have been cut meanwhile; then the header has the smaller length already.
            let length = min(covered, state.length)
            guard length > state.header.length else { return false }
            try changeHeader { $0.length = length }
            return true
        }
        if changed {
            try backing { () throws(Errno) in try vault.store.synchronize(descriptor, dataOnly: true) }
        }
    }

    /// Before link(2): from now on the place is not checked.
    func allowSeveralLinks() throws(VaultError) {
        try lock.withExclusive { () throws(VaultError) in
            guard !state.header.flags.contains(.severalLinks) else { return }
            try changeHeaderFirst { $0.flags.insert(.severalLinks) }
        }
    }

    /// Before a rename to `place`: it may stand at both. With `protection`, it takes that class and mark at once.
    func beginMove(
        to place: Place, taking protection: (class: ProtectionClass, isExplicit: Bool)?
    ) throws(VaultError) {
        try lock.withExclusive { () throws(VaultError) in
            let severalLinks = state.header.flags.contains(.severalLinks)
            if severalLinks && protection == nil { return }
            let wrap = try protection.map { (protection) throws(VaultError) in try rewrapped(for: protection.class) }
            try changeHeaderFirst { header in
                if !severalLinks {
                    header.flags.insert(.moving)
                    header.secondPlace = place
                }
                if let protection, let wrap { header.take(protection.class, protection.isExplicit, wrap) }
            }
        }
    }

    /// Instead of a rename that failed: place, class, mark and wrap are again those of `before`.
    func cancelMove(restoring before: FileHeader) throws(VaultError) {
        try lock.withExclusive { () throws(VaultError) in
            let now = state.header
            guard now.flags != before.flags || now.wrap != before.wrap else { return }
            try changeHeader { header in
                header.flags = before.flags
                header.place = before.place
                header.secondPlace = before.secondPlace
                header.protectionClass = before.protectionClass
                header.wrapAlgorithm = before.wrapAlgorithm
                header.wrap = before.wrap
            }
        }
    }

    /// After a rename: it stands at one place.
    func finishMove(at place: Place) throws(VaultError) {
        try lock.withExclusive { () throws(VaultError) in
            guard state.header.flags.contains(.moving) else { return }
            try changeHeader { header in
                header.flags.remove(.moving)
                header.place = place
                header.secondPlace = .zero
            }
        }
    }
}
