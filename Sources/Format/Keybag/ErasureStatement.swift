/// `lk.erased`: what an erased vault says in place of its keybag. docs/FORMAT.md, "An erased vault".
///
/// It has no MAC, since no key is left: it may explain why there is no keybag, and decide nothing.
public struct ErasureStatement: Hashable, Sendable {
    /// In seconds since 1970.
    public let erased: UInt64

    private static let magic = "LKERASED "
    private static let mostDigits = 12
    /// The size of the longest one.
    public static let largest = magic.utf8.count + mostDigits + 1

    public init(erased: UInt64) { self.erased = erased }

    /// Nil unless the bytes are exactly those that `encoded` gives.
    public init?(decoding bytes: [UInt8]) {
        let digits = bytes.dropFirst(Self.magic.utf8.count).dropLast()
        guard bytes.count <= Self.largest, !digits.isEmpty,
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        erased = digits.reduce(0) { $0 * 10 + UInt64($1 - UInt8(ascii: "0")) }
        guard encoded == bytes else { return nil }
    }

    public var encoded: [UInt8] { Array("\(Self.magic)\(erased)\n".utf8) }
}
