public import Crypto

// For tests alone: the bytes of these secrets are in ordinary memory too.

public func secret(_ bytes: [UInt8]) throws(CryptoError) -> Secret { try unsafe Secret(copying: bytes.span.bytes) }

public func secret(_ text: String) throws(CryptoError) -> Secret { try secret(Array(text.utf8)) }

extension Secret {
    public var exposed: [UInt8] { withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe Array($0) } } }
}
