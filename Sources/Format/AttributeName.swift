/// Names of extended attributes in the backing store.
public enum AttributeName: Hashable, Sendable {
    /// The encrypted name.
    case short(ciphertext: [UInt8])
    /// The hash of the encrypted name as base64url; that stands before the value.
    case long(hash: [UInt8])

    /// Before the base64url of the encrypted name; what lacks it is foreign.
    public static let prefix = "user.lk."
    /// Before the hash of one that is too long.
    public static let longPrefix = "user.lk.long."
    /// setxattr(2) takes names of up to 255 bytes.
    public static let largest = 255

    /// A backing name; nil for a foreign one.
    public init?(backing name: String) {
        if name.hasPrefix(Self.longPrefix) {
            let hash = Array(name.utf8.dropFirst(Self.longPrefix.utf8.count))
            guard Base64URL.decode(hash)?.count == 32 else { return nil }
            self = .long(hash: hash)
            return
        }
        guard name.hasPrefix(Self.prefix),
            let ciphertext = Base64URL.decode(Array(name.utf8.dropFirst(Self.prefix.utf8.count)))
        else { return nil }
        self = .short(ciphertext: ciphertext)
    }

    /// Whether an encrypted name of that many bytes has to be stored by its hash.
    public static func isLong(ciphertextCount count: Int) -> Bool {
        prefix.utf8.count + Base64URL.encodedCount(count) > largest
    }

    public var backing: String {
        switch self {
        case .short(let ciphertext): Self.prefix + String(decoding: Base64URL.encode(ciphertext), as: UTF8.self)
        case .long(let hash): Self.longPrefix + String(decoding: hash, as: UTF8.self)
        }
    }
}
