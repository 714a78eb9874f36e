/// What a machine may do with an object meanwhile: nothing that a read lease of another machine would see changes, and
/// a write lease has one holder.
public enum LeaseKind: UInt8, Comparable, Sendable {
    case read = 1
    case write = 2

    public static func < (one: LeaseKind, other: LeaseKind) -> Bool { one.rawValue < other.rawValue }

    /// Whether two machines cannot have both.
    func conflicts(with other: LeaseKind) -> Bool { self == .write || other == .write }
}

/// A file or folder, by the first 8 bytes of its ID, or the register of machines. Two objects of one number are leased
/// together, which costs time and nothing else.
public struct LeaseObject: Hashable, Sendable {
    public let number: UInt64

    public init(number: UInt64) { self.number = max(number, 1) }

    private init() { number = 0 }

    /// Which machines work with the vault.
    public static let register = LeaseObject()
}

/// A lease that another machine waits for.
public struct Wish: Hashable, Sendable {
    public let object: LeaseObject
    public let kind: LeaseKind

    public init(_ object: LeaseObject, _ kind: LeaseKind) {
        self.object = object
        self.kind = kind
    }
}
