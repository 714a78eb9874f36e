/// Names of extended attributes in the backing store.
public enum AttributeName: Hashable, Sendable {
    /// The encrypted name, if it is short enough.
    case short(ciphertext: [UInt8])
    /// The hash of a longer encrypted name, as base64url; the encrypted name itself stands before the value.
    case long(hash: [UInt8])
    /// A continuation: the second attribute of a long value, named by the value's nonce.
    case continuation(nonce: [UInt8])

    /// The beginning of backing names; a name without it is foreign.
    public enum Prefix: String, Sendable {
        /// For files and directories.
        case user = "user.lk."
        /// For FIFOs, sockets, device nodes and symbolic links, on which Linux does not allow user attributes.
        case trusted = "trusted.lk."
    }

    /// Stands before the hash of a long name.
    public static let longInfix = "long."
    /// Stands before the nonce of a continuation.
    public static let continuationInfix = "rest."
    /// The longest name in bytes, XATTR_NAME_MAX. Source: xattr(7).
    public static let largest = 255
    /// The longest value in bytes, XATTR_SIZE_MAX. Source: xattr(7).
    public static let largestValue = 65_536

    /// Parses a backing name; nil for a foreign one.
    public init?(backing name: String, _ prefix: Prefix = .user) {
        guard name.utf8.starts(with: prefix.rawValue.utf8) else { return nil }
        let own = name.utf8.dropFirst(prefix.rawValue.utf8.count)
        if own.starts(with: Self.longInfix.utf8) {
            let hash = Array(own.dropFirst(Self.longInfix.utf8.count))
            guard Base64URL.decode(hash)?.count == 32 else { return nil }
            self = .long(hash: hash)
        } else if own.starts(with: Self.continuationInfix.utf8) {
            guard let nonce = Base64URL.decode(Array(own.dropFirst(Self.continuationInfix.utf8.count))),
                nonce.count == 16
            else { return nil }
            self = .continuation(nonce: nonce)
        } else {
            guard let ciphertext = Base64URL.decode(Array(own)) else { return nil }
            self = .short(ciphertext: ciphertext)
        }
    }

    /// Whether an encrypted name of `count` bytes is stored as its hash.
    public static func isLong(ciphertextCount count: Int, _ prefix: Prefix = .user) -> Bool {
        prefix.rawValue.utf8.count + Base64URL.encodedCount(count) > largest
    }

    public func backing(_ prefix: Prefix = .user) -> String {
        func text(_ ascii: [UInt8]) -> String { String(decoding: ascii, as: UTF8.self) }
        return switch self {
        case .short(let ciphertext): prefix.rawValue + text(Base64URL.encode(ciphertext))
        case .long(let hash): prefix.rawValue + Self.longInfix + text(hash)
        case .continuation(let nonce): prefix.rawValue + Self.continuationInfix + text(Base64URL.encode(nonce))
        }
    }
}
