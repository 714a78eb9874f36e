import Format
import Glibc
import Posix
import Store
import Vault

/// Copies a file, with zeros in the ranges that cannot be read.
struct Salvage {
    private static let chunk = 64 << 10

    private let source: File
    private let vault: Vault

    /// Whether the source is kept after the copy. If so, an I/O error counts as a lost range; if not, it ends the copy.
    private let keepsSource: Bool

    init(of source: File, _ vault: Vault, keepingSource: Bool = true) {
        self.source = source
        self.vault = vault
        keepsSource = keepingSource
    }

    /// Whether an error means that bytes are lost, so that the copy goes on.
    private func isLoss(_ error: VaultError) -> Bool {
        switch error {
        case .damaged: true
        case .system(.EIO): keepsSource
        default: false
        }
    }

    /// Makes the copy, with the same class, mode, owner, time and attributes, but its own ID and key. It appears whole
    /// or not at all.
    ///
    /// - Returns: the ranges that are zeros instead.
    /// - Throws: `damaged` if nothing of the source can be read; `locked` if the key of its class is evicted.
    func copy(to name: Name, in target: Directory) throws(VaultError) -> LostRanges {
        let temporary = try vault.partialName(of: name, in: target)
        let status = try backing { () throws(Errno) in try vault.store.status(of: source.descriptor) }
        let header = source.header
        let copy = try vault.createFile(
            temporary, in: target, Ownership(mode: status.permissions, user: status.owner, group: status.group),
            header.protectionClass)
        do throws(VaultError) {
            if header.protection.isExplicit { try copy.setClass(header.protectionClass) }
            let lost = try copyContents(to: copy)
            guard lost.byteCount < header.provisionalLength || header.provisionalLength == 0 else {
                throw .damaged("nothing of it can be read")
            }
            try copyAttributes(to: copy)
            try copy.setTimes(accessed: .keep, modified: .at(header.shownTime(of: status.modified)))
            try vault.finish(copy, temporary, as: name, in: target)
            return lost
        } catch {
            try? vault.unlink(temporary, in: target)
            throw error
        }
    }

    private func copyContents(to copy: File) throws(VaultError) -> LostRanges {
        let length = source.length
        var lost = LostRanges()
        var buffer = [UInt8](repeating: 0, count: Self.chunk)
        defer { unsafe explicit_bzero(&buffer, buffer.count) }
        var offset: UInt64 = 0
        while true {
            let data = min(skipHole(at: offset), length)
            // Where the header does not allow holes, a hole in confirmed contents is lost data.
            let end = min(data, confirmedWithoutHoles)
            if offset < end { lost.add(offset..<end) }
            offset = data
            guard offset < length else { break }
            let chunk = offset..<min(offset + UInt64(Self.chunk), length)
            do throws(VaultError) {
                try copyBytes(chunk, to: copy, &buffer)
            } catch {
                guard isLoss(error) else { throw error }
                var start = offset
                while start < chunk.upperBound {
                    let block = start..<min(start + BlockGeometry.blockSize, chunk.upperBound)
                    do throws(VaultError) { try copyBytes(block, to: copy, &buffer) } catch {
                        guard isLoss(error) else { throw error }
                        lost.add(block)
                    }
                    start = block.upperBound
                }
            }
            offset = chunk.upperBound
        }
        // Adds what was lost, or is a hole, at the end.
        try copy.truncate(to: length)
        return lost
    }

    private func copyBytes(_ range: Range<UInt64>, to copy: File, _ buffer: inout [UInt8]) throws(VaultError) {
        do {
            var elements = buffer.mutableSpan
            var bytes = unsafe elements.mutableBytes
            var part = bytes._mutatingExtracting(0..<range.count)
            guard try source.read(into: &part, at: range.lowerBound) == range.count else {
                throw VaultError.damaged("truncated")
            }
        } catch let error as VaultError { throw error } catch { throw .system(.EIO) }
        try unsafe copy.write(buffer.span.bytes.extracting(0..<range.count), at: range.lowerBound)
    }

    /// The end of the confirmed contents that may not have holes, in bytes of plaintext.
    private var confirmedWithoutHoles: UInt64 {
        let header = source.header
        let (sparse, isFar) = header.firstSparseBlock.multipliedReportingOverflow(by: BlockGeometry.blockSize)
        return isFar ? header.length : min(header.length, sparse)
    }

    /// The beginning of the next block at or after `offset` that is not a hole in the backing file.
    private func skipHole(at offset: UInt64) -> UInt64 {
        let block = BlockGeometry.block(at: offset)
        let start = BlockGeometry.backingOffset(ofBlock: block)
        do throws(Errno) {
            guard let data = try vault.store.nextData(of: source.descriptor, from: Int64(start)) else { return .max }
            let skipped = (UInt64(data) - start) / BlockGeometry.storedBlockSize
            return max(offset, (block + skipped) * BlockGeometry.blockSize)
        } catch {
            return offset
        }
    }

    private func copyAttributes(to copy: File) throws(VaultError) {
        for name in try vault.attributeNames(of: .file(source)) {
            // An attribute that does not open has its own finding, and its repair removes it.
            guard let value = try? vault.attribute(name, of: .file(source)) else { continue }
            try vault.setAttribute(name, to: value, flags: 0, of: .file(copy))
        }
    }
}

extension Vault {
    /// The name of a file until it is complete. Removes what an interrupted attempt has left under it.
    func partialName(of name: Name, in directory: Directory) throws(VaultError) -> Name {
        let partial = name.numbered(1, ".part")
        do throws(VaultError) { try unlink(partial, in: directory) } catch {
            guard error == .system(.ENOENT) else { throw error }
        }
        return partial
    }

    /// Makes a file durable, then renames it to `name`, which must be free.
    func finish(_ file: File, _ partial: Name, as name: Name, in directory: Directory) throws(VaultError) {
        try file.synchronize(dataOnly: false)
        try rename(
            renameEnd(partial, in: directory), .file(file), to: renameEnd(name, in: directory), replaced: nil,
            RenameKind(noReplace: true))
        try synchronize(directory)
    }
}
