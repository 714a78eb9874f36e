/// Which name of which file: 96 bits of the two identifiers, both of which look random to those who lack the keys.
public struct MarkKey: Hashable, Sendable {
    package let first: UInt64
    package let second: UInt32

    public init(_ file: FileIdentifier, at binding: NameBinding) {
        self.init(
            file.firstHalf ^ binding.firstHalf,
            UInt32(truncatingIfNeeded: file.secondHalf ^ binding.secondHalf))
    }

    /// The key of something that is sealed with a nonce of its own: an extended attribute, a file of them, or the
    /// target of a symbolic link.
    ///
    /// - Parameter tag: a PRF of the nonce, 16 bytes or more.
    public init(value tag: [UInt8]) {
        let bytes = unsafe tag.span.bytes
        self.init(bytes.integer(at: 0, as: UInt64.self), bytes.integer(at: 8, as: UInt32.self))
    }

    /// The same of the root or another directory as of a file.
    public init(_ directory: DirectoryIdentifier, at binding: NameBinding) {
        self.init(FileIdentifier(directory.bytes), at: binding)
    }

    /// The key of what one machine has written under a name.
    ///
    /// - Parameter machine: its number, not 0.
    public func version(by machine: UInt32) -> MarkKey {
        // Odd constants from the fractional part of the golden ratio: each machine has keys of its own.
        MarkKey(first ^ UInt64(machine) &* 0x9E37_79B9_7F4A_7C15, second ^ machine &* 0x9E37_79B1)
    }

    /// The journal's: no file has the ID of zeros.
    public static let journal = MarkKey(0, 0)

    package init(_ first: UInt64, _ second: UInt32) {
        self.first = first
        self.second = second
    }
}
