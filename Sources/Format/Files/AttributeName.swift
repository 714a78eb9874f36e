/// Names of extended attributes in the backing store.
public enum AttributeName: Hashable, Sendable {
    /// The encrypted name.
    case short(ciphertext: [UInt8])
    /// The hash of the encrypted name as base64url; that stands before the value.
    case long(hash: [UInt8])
    /// What of a value is too long for one attribute, by the value's nonce.
    case continuation(nonce: [UInt8])

    /// What the backing names begin with; what lacks it is foreign.
    public enum Prefix: String, Sendable {
        /// On files and directories.
        case user = "user.lk."
        /// On what can have no attributes of users: FIFOs, sockets, device nodes and symbolic links.
        case trusted = "trusted.lk."
    }

    /// Before the hash of a name that is too long.
    public static let longInfix = "long."
    /// Before the nonce of a value that it continues.
    public static let continuationInfix = "rest."
    /// setxattr(2) takes names of up to 255 bytes.
    public static let largest = 255
    /// And values of up to 64 KiB: XATTR_SIZE_MAX.
    public static let largestValue = 65_536

    /// A backing name; nil for a foreign one.
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

    /// Whether an encrypted name of that many bytes has to be stored by its hash.
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
