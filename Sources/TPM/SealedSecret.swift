internal import CTPM

/// A secret sealed for one TPM: not secret itself.
///
/// It does not say where it belongs. An attacker who can replace it can replace it by another one, so the caller must
/// authenticate the unsealed secret.
public struct SealedSecret: Hashable, Sendable {
    /// The largest size of an encoded one, in bytes.
    public static let maximumSize = 1024

    /// A marshalled TPM2B_PUBLIC (TCG TPM 2.0 part 2, 12.2.5).
    let publicPart: [UInt8]
    /// A marshalled TPM2B_PRIVATE (part 2, 12.3.7).
    let privatePart: [UInt8]

    /// Decodes the format of `encoded`.
    /// - Throws: `malformed` unless the lengths are exactly those of the parts, neither part is empty, and the whole
    ///   has at most `maximumSize` bytes. Whether a TPM accepts it shows only at the unsealing.
    public init(decoding bytes: [UInt8]) throws(TPMError) {
        guard bytes.count <= Self.maximumSize else { throw .malformed }
        var rest = bytes[...]
        publicPart = try Self.takePart(&rest)
        privatePart = try Self.takePart(&rest)
        guard rest.isEmpty else { throw .malformed }
    }

    private static func takePart(_ rest: inout ArraySlice<UInt8>) throws(TPMError) -> [UInt8] {
        guard rest.count >= 2 else { throw .malformed }
        let count = Int(rest.removeFirst()) | Int(rest.removeFirst()) << 8
        guard count >= 1, count <= rest.count else { throw .malformed }
        defer { rest.removeFirst(count) }
        return Array(rest.prefix(count))
    }

    /// Each part after its length in 16 bits, little-endian: the public one, then the private one.
    public var encoded: [UInt8] {
        var bytes: [UInt8] = []
        for part in [publicPart, privatePart] {
            bytes.append(UInt8(truncatingIfNeeded: part.count))
            bytes.append(UInt8(truncatingIfNeeded: part.count >> 8))
            bytes += part
        }
        return bytes
    }
}

extension SealedSecret {
    init(_ sealed: lk_tpm_sealed) throws(TPMError) {
        publicPart = unsafe withUnsafeBytes(of: sealed.public_part) { unsafe Array($0.prefix(sealed.public_count)) }
        privatePart = unsafe withUnsafeBytes(of: sealed.private_part) { unsafe Array($0.prefix(sealed.private_count)) }
        guard publicPart.count + privatePart.count + 4 <= Self.maximumSize else { throw .malformed }
    }

    var parts: lk_tpm_sealed {
        var sealed = lk_tpm_sealed()
        sealed.public_count = publicPart.count
        sealed.private_count = privatePart.count
        unsafe withUnsafeMutableBytes(of: &sealed.public_part) { unsafe $0.copyBytes(from: publicPart) }
        unsafe withUnsafeMutableBytes(of: &sealed.private_part) { unsafe $0.copyBytes(from: privatePart) }
        return sealed
    }
}
