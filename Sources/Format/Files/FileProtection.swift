/// The protection of a file's key: the class, and the key wrapped for that class.
public struct FileProtection: Hashable, Sendable {
    public var protectionClass: ProtectionClass
    /// The class was set on this file, not inherited when it was created.
    public var isExplicit: Bool
    public var wrapAlgorithm: UInt8
    /// At most `FileHeader.largestWrap` bytes.
    public var wrap: [UInt8]

    public init(protectionClass: ProtectionClass, isExplicit: Bool, wrapAlgorithm: UInt8, wrap: [UInt8]) {
        precondition(wrap.count <= FileHeader.largestWrap)
        self.protectionClass = protectionClass
        self.isExplicit = isExplicit
        self.wrapAlgorithm = wrapAlgorithm
        self.wrap = wrap
    }
}
