import Crypto
import Format
import Keybag
import Posix
import Store
import Vault

/// What is left of a file: its header if it is whole, else what of it may still be of use.
struct SalvagedFile {
    /// The first 512 bytes, or all.
    let bytes: [UInt8]
    /// Nil if it does not open.
    let header: FileHeader?
    /// Nil if the file is too short.
    let raw: FileHeader.Unverified?
    /// Bytes of plaintext that the backing file can hold; and without a hole at its end.
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

    /// Behind the last data of a file; its size where the store knows no holes.
    private static func dataEnd(of file: Descriptor, _ size: Int64, _ store: any Store) throws(Errno) -> Int64 {
        // There is data at or after `data`, and none from `end` on.
        guard var data = try store.nextData(of: file, from: 0) else { return 0 }
        var end = size
        while end - data > 1 {
            let middle = data + (end - data) / 2
            if let next = try store.nextData(of: file, from: middle) { data = next } else { end = middle }
        }
        return end
    }

    /// Whether there is anything to keep.
    var hasBytes: Bool { bytes.contains { $0 != 0 } }

    /// Whether a key wrap may be left that only a class key can prove which is not at hand.
    func mayHoldKey(_ vault: Vault) -> Bool {
        guard let raw, raw.wrap(count: 40).contains(where: { $0 != 0 }) else { return false }
        return !ProtectionClass.allCases.allSatisfy(vault.canOpen)
    }

    /// A header made from a key wrap that is still good: it proves file ID and class, and the backing file tells the
    /// length. Where that has holes, what is left of the old header says which of them were the file's own. Nil if
    /// there is none, or the key of its class is not at hand.
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
