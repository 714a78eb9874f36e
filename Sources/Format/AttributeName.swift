/// Names of extended attributes in the backing store.
public enum AttributeName {
    /// Before the base64url of the encrypted name; what lacks it is foreign.
    public static let prefix = "user.lk."
    /// setxattr(2) takes names of up to 255 bytes.
    public static let largest = 255

    public static func backing(ciphertext: [UInt8]) -> String {
        prefix + String(decoding: Base64URL.encode(ciphertext), as: UTF8.self)
    }

    /// The ciphertext in a backing name, or nil for a foreign one.
    public static func ciphertext(backing name: String) -> [UInt8]? {
        guard name.hasPrefix(prefix) else { return nil }
        return Base64URL.decode(Array(name.utf8.dropFirst(prefix.utf8.count)))
    }
}
