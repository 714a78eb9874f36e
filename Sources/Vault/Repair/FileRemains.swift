import Crypto
import Format
import Keybag
import Posix
import Store

/// What is left of a file: its header if it is whole, else what of it may still be of use.
struct FileRemains {
    /// The first 512 bytes, or all.
    let bytes: [UInt8]
    /// Nil if it does not open.
    let header: FileHeader?
    /// Nil if the file is too short.
    let raw: FileHeader.Remains?
    /// Bytes of plaintext that the backing file can hold.
    let length: UInt64

    init(of file: Descriptor, _ vault: Vault) throws(VaultError) {
        var bytes = [UInt8](repeating: 0, count: FileHeader.byteCount)
        let size: Int64
        do {
            size = try vault.store.status(of: file).size
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            let count = try vault.store.read(file, into: &span, at: 0)
            bytes.removeSubrange(count...)
        } catch { throw .system(error) }
        self.bytes = bytes
        length = BlockGeometry.storedLength(forBackingSize: UInt64(size))
        header = try? unsafe vault.header(from: bytes.span.bytes)
        raw = try? unsafe FileHeader.Remains(of: bytes.span.bytes)
    }

    /// Whether there is anything to keep.
    var hasBytes: Bool { bytes.contains { $0 != 0 } }

    /// Whether a key wrap may be left that only a class key can prove which is not at hand.
    func mayHoldKey(_ vault: Vault) -> Bool {
        guard let raw, raw.wrap(count: 40).contains(where: { $0 != 0 }) else { return false }
        return !ProtectionClass.allCases.allSatisfy(vault.canOpen)
    }

    /// A header made from a key wrap that is still good: it proves file ID and class, and the backing file's size tells
    /// the length. Nil if there is none, or the key of its class is not at hand.
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
                protection: FileProtection(protectionClass, isExplicit: true, wrap), place: .zero)
            header.length = length
            header.provisionalLength = length
            return header
        }
        return nil
    }
}
