import Crypto
import Failure
import Format

/// Tells a vault from another that was made for the same escrow key: a commitment to a key that only an unlock yields.
///
/// It is not secret, and does not help to make such a vault. docs/FORMAT.md, "The vault proof".
public struct VaultProof: Hashable, Sendable {
    static let byteCount = 16

    private let bytes: [UInt8]

    /// - Parameter bytes: 16.
    init(_ bytes: [UInt8]) {
        precondition(bytes.count == Self.byteCount)
        self.bytes = bytes
    }

    /// Parses 32 hexadecimal digits; hyphens, spaces and case do not matter. Nil for any other text.
    public init?(_ text: String) {
        let digits = text.utf8.filter { !Array("- \n\t".utf8).contains($0) }
        guard let bytes = [UInt8](hexadecimal: String(decoding: digits, as: UTF8.self)),
            bytes.count == Self.byteCount
        else { return nil }
        self.init(bytes)
    }

    /// Eight groups of four hexadecimal digits.
    public var text: String {
        stride(from: 0, to: bytes.count, by: 2).map { String(hexadecimal: bytes[$0..<$0 + 2]) }.joined(separator: "-")
    }
}

extension Bundle {
    /// The proof of this bundle. Only `latchkey rotate` changes it.
    func proof(_ volume: VolumeIdentifier) throws(Failure) -> VaultProof {
        let derived = try crypto(
            try Secret.derived(
                from: unlockMACKey(), salt: volume.bytes, info: Label.vaultProof, count: VaultProof.byteCount))
        return VaultProof(derived.withBytes { bytes in (0..<bytes.byteCount).map { bytes.byte($0) } })
    }
}
