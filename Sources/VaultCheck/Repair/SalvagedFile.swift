import Crypto
import Format
import Keybag
import Posix
import Store
import Vault

/// What can still be read of a file: its header if that is good, else the parts of it that may be of use.
struct SalvagedFile {
    /// The first 512 bytes, or fewer if the file is shorter.
    let bytes: [UInt8]
    /// Nil if it does not open.
    let header: FileHeader?
    /// Nil if the file is too short.
    let raw: FileHeader.Unverified?
    /// Bytes of plaintext that fit the backing file; `dataLength` does not count a hole at its end.
    let length: UInt64
    private let dataLength: UInt64
    private let isSparse: Bool

    init(of file: Descriptor, _ vault: Vault) throws(VaultError) {
        var bytes = [UInt8](repeating: 0, count: FileHeader.byteCount)
        let status: FileStatus
        let dataEnd: Int64
        do {
            status = try vault.store.status(of: file)
            dataEnd = try Self.dataEnd(of: file, status.size, vault.store)
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            let count = try vault.store.read(file, into: &span, at: 0)
            bytes.removeSubrange(count...)
        } catch { throw .system(error) }
        self.bytes = bytes
        length = min(BlockGeometry.storedLength(forBackingSize: UInt64(status.size)), FileHeader.largestLength)
        dataLength = min(BlockGeometry.storedLength(forBackingSize: UInt64(dataEnd)), length)
        isSparse = status.blocks * 512 < status.size
        header = try? unsafe vault.header(from: bytes.span.bytes)
        raw = try? unsafe FileHeader.Unverified(of: bytes.span.bytes)
    }

    /// The end of a file's last data; the file's size if the store does not know holes.
    private static func dataEnd(of file: Descriptor, _ size: Int64, _ store: any Store) throws(Errno) -> Int64 {
        // Binary search: there is data at or after `data`, and none from `end` on.
        guard var data = try store.nextData(of: file, from: 0) else { return 0 }
        var end = size
        while end - data > 1 {
            let middle = data + (end - data) / 2
            if let next = try store.nextData(of: file, from: middle) { data = next } else { end = middle }
        }
        return end
    }

    var hasBytes: Bool { bytes.contains { $0 != 0 } }

    /// Whether the header may still have a key wrap that only a missing class key can prove.
    func mayHoldKey(_ vault: Vault) -> Bool {
        guard let raw, raw.wrap(count: 40).contains(where: { $0 != 0 }) else { return false }
        return !ProtectionClass.allCases.allSatisfy(vault.canOpen)
    }

    /// A new header around a key wrap that is still good. The wrap proves file ID and class; the backing file gives the
    /// length. If the backing file has holes, the damaged header says where they are allowed. Nil if no wrap opens, or
    /// the class key is missing.
    func rebuilt(_ vault: Vault) -> FileHeader? {
        guard let raw else { return nil }
        for protectionClass in ProtectionClass.allCases {
            let isB = protectionClass == .completeUnlessOpen
            let wrap = FileKeyWrap(
                algorithm: isB ? FileKeyWrap.keyAgreement : FileKeyWrap.symmetric, bytes: raw.wrap(count: isB ? 72 : 40)
            )
            guard (try? vault.ring.unwrap(wrap, file: raw.file, class: protectionClass)) != nil else { continue }
            var header = FileHeader(
                volume: vault.volume, file: raw.file,
                protection: FileProtection(protectionClass, isExplicit: true, wrap), binding: .zero)
            header.length = isSparse ? max(dataLength, min(raw.length, length)) : length
            header.provisionalLength = header.length
            if isSparse { header.firstSparseBlock = raw.firstSparseBlock }
            return header
        }
        return nil
    }
}
