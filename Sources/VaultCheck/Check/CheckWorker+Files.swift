import Crypto
import Format
import Posix
import Store
import Vault

extension CheckWorker {
    /// How many bytes are read with the header if the file's class may be locked.
    private static let smallRead = 16 << 10

    /// Checks a regular file: its header, name binding, size and attributes, and its blocks if that is asked for and
    /// the ring has the key of its class.
    ///
    /// - Parameter part: the file's share of the whole. The caller counts what is left of it.
    func checkFile(_ spot: Spot, in folder: CheckedFolder, _ part: inout UInt64) {
        do throws(VaultError) {
            let descriptor = try vault.openBacking(spot.stored!, in: folder.directory)
            let status = try backing { () throws(Errno) in try store.status(of: descriptor) }
            guard status.kind == .regular else { throw .system(.EAGAIN) }
            let size = UInt64(status.size)
            let head = try readHead(of: descriptor, size)
            var header: FileHeader
            do throws(VaultError) {
                header = try vault.header(from: unsafe UnsafeRawBufferPointer(rebasing: scratch.stored[..<head]).bytes)
            } catch {
                guard let made = vault.madeHeader(of: descriptor) else {
                    return reportHeader(error, head, status, at: spot)
                }
                header = made
            }
            let overlay = vault.overlay(of: header, inode: status.inode)
            let binding = vault.binding(of: spot.name!, in: folder.directory)
            if let found = try vault.header(header, of: descriptor, foundAt: binding) {
                header = found
            } else {
                return damage(.binding, "the file here belongs to another name or folder", at: spot)
            }
            check.sight(header.file)
            let isSeen = check.compare(overlay?.header ?? header, at: binding, spot)
            checkAttributes(of: AttributeSubject(descriptor: descriptor, identifier: header.file.bytes), spot)

            let file = File(
                vault: vault, descriptor: descriptor, isWritable: false, header: header.resolved(at: binding),
                isNew: false, status: status)
            if let overlay { file.show(overlay, at: binding, status) }
            // Nothing is known of the blocks of another version.
            if isSeen { file.compareBlocks(at: binding) }
            let contents = CheckedContents(file, size: size, isInJournal: overlay != nil, at: spot)
            contents.loseMissing()
            if check.readsContents {
                // A large file's part is counted piece by piece.
                contents.part = contents.blockCount > 1000 ? part / contents.blockCount : 0
                part -= contents.part * contents.blockCount
                verify(contents, head: overlay == nil ? head : FileHeader.byteCount)
            } else {
                report(contents)
            }
        } catch { report(error, .header, "the file cannot be read", at: spot) }
    }

    /// Whether the beginning of the file in the scratch shows that no header has reached the disk.
    private func isVoid(_ head: Int) -> Bool {
        let raw = unsafe UnsafeRawBufferPointer(rebasing: scratch.stored[..<head]).bytes
        return head < FileHeader.byteCount || raw.isZero(0..<FileHeader.byteCount)
    }

    /// Reads the header into the scratch, and as many blocks as fit in one read if they are to be verified.
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
            return try read(file, Int(min(UInt64(most), size)))
        } catch {
            // A bad sector behind the header loses a block, not the file.
            return try read(file, Int(min(UInt64(FileHeader.byteCount), size)))
        }
    }

    private func read(_ file: Descriptor, _ count: Int) throws(VaultError) -> Int {
        do {
            var span = unsafe MutableRawSpan(
                _unsafeBytes: UnsafeMutableRawBufferPointer(rebasing: scratch.stored[..<count]))
            return try store.read(file, into: &span, at: 0)
        } catch { throw .system(error) }
    }

    /// Reports a header that does not open. It is damage, unless a crash has kept it from the disk, or it is of a later
    /// version and its MAC is good.
    private func reportHeader(_ error: VaultError, _ head: Int, _ status: FileStatus, at spot: Spot) {
        guard case .damaged(let reason) = error else {
            return report(error, .header, "the file cannot be read", at: spot)
        }
        let raw = unsafe UnsafeRawBufferPointer(rebasing: scratch.stored[..<head]).bytes
        let isZero = raw.isZero(0..<min(head, FileHeader.byteCount))
        if isVoid(head), check.isSinceCrash(status) {
            orphan(.unsynced, "a file that was made just before a crash, and nothing of it was synced", at: spot)
        } else if head == 0 {
            damage(.header, "an empty file: nothing of it has reached the disk", at: spot)
        } else if isZero {
            damage(.header, "zeros where its header should be", at: spot)
        } else if vault.isSigned(raw) {
            note(.unsupported, "a later version of latchkey has written it: \(reason)", at: spot)
        } else {
            damage(.header, "\(reason)", at: spot)
        }
    }
}

extension Vault {
    /// Whether the MAC of a header is good, whatever its fields are.
    fileprivate func isSigned(_ raw: RawSpan) -> Bool {
        guard raw.byteCount >= FileHeader.byteCount else { return false }
        return keys.headers.verify(
            raw.extracting(FileHeader.signedByteCount..<FileHeader.byteCount),
            of: raw.extracting(0..<FileHeader.signedByteCount))
    }
}
