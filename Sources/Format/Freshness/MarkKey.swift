/// Which name of which file: 96 bits of the two identifiers, both of which look random to those who lack the keys.
public struct MarkKey: Hashable, Sendable {
    package let first: UInt64
    package let second: UInt32

    public init(_ file: FileIdentifier, at binding: NameBinding) {
        self.init(
            file.firstHalf ^ binding.firstHalf,
            UInt32(truncatingIfNeeded: file.secondHalf ^ binding.secondHalf))
    }

    /// The journal's: no file has the ID of zeros.
    public static let journal = MarkKey(0, 0)

    package init(_ first: UInt64, _ second: UInt32) {
        self.first = first
        self.second = second
    }
}
