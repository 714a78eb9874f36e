import Crypto
import Failure
import Format

/// What tells a vault from one that somebody else has made for the same escrow key: a commitment to a key that only unlocking yields.
///
/// It is no secret, and helps nobody to make such a vault. docs/FORMAT.md, "The vault proof".
public struct VaultProof: Hashable, Sendable {
    static let byteCount = 16

    private let bytes: [UInt8]

    /// - Parameter bytes: 16.
    init(_ bytes: [UInt8]) {
        precondition(bytes.count == Self.byteCount)
        self.bytes = bytes
    }

    /// In 32 hexadecimal digits; hyphens, spaces and case do not matter. Nil for anything else.
    public init?(_ text: String) {
        let digits = text.utf8.filter { !Array("- \n\t".utf8).contains($0) }
        guard digits.count == 2 * Self.byteCount else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = EscrowKey.value(of: digits[index]), let low = EscrowKey.value(of: digits[index + 1]) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        self.init(bytes)
    }

    /// Eight groups of four hexadecimal digits.
    public var text: String {
        let digits = bytes.map { byte in
            let text = String(byte, radix: 16)
            return text.count == 1 ? "0" + text : text
        }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] + digits[$0 + 1] }.joined(separator: "-")
    }
}

extension Bundle {
    /// Others after `latchkey rotate`, and only then.
    func proof(_ volume: VolumeIdentifier) throws(Failure) -> VaultProof {
        let derived = try crypto(
            try Secret.derived(
                from: unlockMACKey(), salt: volume.bytes, info: Label.vaultProof, count: VaultProof.byteCount))
        return VaultProof(derived.withBytes { bytes in (0..<bytes.byteCount).map { bytes.byte($0) } })
    }
}
