import Crypto
import Format
import Keybag
import Posix
import Store

extension CheckWorker {
    /// Bytes that are read with the header when the class of a file may turn out to be locked.
    private static let smallRead = 16 << 10

    /// Checks a regular file: its header, its place and its size; its attributes; and its blocks where that is asked
    /// for and the key of its class is at hand.
    ///
    /// - Parameter part: of the whole; what is left of it is for the caller to count.
    func checkFile(_ stored: Name, _ name: Name, in folder: CheckedFolder, _ part: inout UInt64) {
        do throws(VaultError) {
            let file = try backing { () throws(Errno) in
                try store.open(stored, in: folder.directory.descriptor, OpenFlags.read)
            }
            let status = try backing { () throws(Errno) in try store.status(of: file) }
            guard status.kind == .regular else { throw .system(.EAGAIN) }
            let size = UInt64(status.size)
            let count = try readHead(of: file, size)
            let header: FileHeader
            do throws(VaultError) { header = try self.header(count) } catch {
                reportHeader(error, count, in: folder.trail, name, stored)
                return
            }
            guard header.belongs(at: vault.place(of: name, in: folder.directory)) else {
                damage(
                    .place, "a file that belongs to another name or folder stands here",
                    path: folder.trail.path(of: name),
                    in: folder.trail, stored)
                return
            }
            checkAttributes(of: file, header.file.bytes, folder.trail, (name, stored))
            let contents = CheckedContents(file: file, size: size, header: header, name: name, stored, in: folder)
            if check.readsContents {
                // A large file's part is counted piece by piece.
                contents.part = contents.blockCount > 1000 ? part / contents.blockCount : 0
                part -= contents.part * contents.blockCount
                verify(contents, head: count)
            } else {
                contents.loseMissing()
                report(contents)
            }
        } catch { report(error, .header, "the file cannot be read", in: folder.trail, name, stored) }
    }

    /// Reads the header into the scratch, and as many blocks as one read gives when they are wanted.
    private func readHead(of file: Descriptor, _ size: UInt64) throws(VaultError) -> Int {
        let most =
            if !check.readsContents {
                FileHeader.byteCount
            } else if check.hasAllKeys {
                unsafe scratch.stored.count
            } else {
                Self.smallRead
            }
        do throws(VaultError) {
            return try read(file, at: 0, Int(min(UInt64(most), size)))
        } catch {
            // A bad sector behind the header is the loss of a block, not of the file.
            return try read(file, at: 0, Int(min(UInt64(FileHeader.byteCount), size)))
        }
    }

    /// Reads into the scratch's memory for stored blocks; fewer than `count` bytes at the end of the file alone.
    func read(_ file: Descriptor, at offset: UInt64, _ count: Int) throws(VaultError) -> Int {
        do {
            var span = unsafe MutableRawSpan(
                _unsafeBytes: UnsafeMutableRawBufferPointer(rebasing: scratch.stored[..<count]))
            return try store.read(file, into: &span, at: Int64(offset))
        } catch { throw .system(error) }
    }

    private func header(_ count: Int) throws(VaultError) -> FileHeader {
        try vault.header(from: unsafe UnsafeRawBufferPointer(rebasing: scratch.stored[..<count]).bytes)
    }

    /// A header that does not open is damage, but for one of a later version, whose MAC is good.
    private func reportHeader(_ error: VaultError, _ count: Int, in trail: Trail, _ name: Name, _ stored: Name) {
        let path = trail.path(of: name)
        guard case .damaged(let reason) = error else {
            return report(error, .header, "the file cannot be read", in: trail, name, stored)
        }
        let raw = unsafe UnsafeRawBufferPointer(rebasing: scratch.stored[..<count]).bytes
        if count == 0 {
            damage(.header, "an empty file: nothing of it has reached the disk", path: path, in: trail, stored)
        } else if raw.isZero(0..<min(count, FileHeader.byteCount)) {
            damage(.header, "zeros where its header should be", path: path, in: trail, stored)
        } else if vault.isSigned(raw) {
            note(
                .unsupported, "a later version of latchkey has written it: \(reason)", path: path, in: trail, stored)
        } else {
            damage(.header, reason, path: path, in: trail, stored)
        }
    }
}

extension Vault {
    /// Whether the MAC over a header is good, whatever else it says.
    fileprivate func isSigned(_ raw: RawSpan) -> Bool {
        guard raw.byteCount >= FileHeader.byteCount else { return false }
        return keys.headers.verify(
            raw.extracting(FileHeader.signedByteCount..<FileHeader.byteCount),
            of: raw.extracting(0..<FileHeader.signedByteCount))
    }
}
