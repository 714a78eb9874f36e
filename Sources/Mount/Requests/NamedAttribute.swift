import Format
import Posix
import Vault

/// Sorts extended attributes by their names. Names are bytes, and need not be UTF-8.
enum NamedAttribute {
    /// Computed, not stored.
    case protectionClass
    case accessList, defaultList
    case stored
    /// No such namespace: EOPNOTSUPP.
    case unknown
    /// A prefix with nothing behind it: EINVAL.
    case nameless

    private static let protectionClassName = Array(ProtectionClass.attributeName.utf8)
    private static let accessName = Array(AccessControlList.accessAttribute.utf8)
    private static let defaultName = Array(AccessControlList.defaultAttribute.utf8)
    private static let conflictName = Array(Vault.conflictAttribute.utf8)
    private static let reserved = Array("user.latchkey.".utf8)
    private static let prefixes = ["user.", "trusted.", "security."].map { Array($0.utf8) }
    static let trusted = prefixes[1]

    init(_ name: [UInt8]) {
        switch name {
        case Self.protectionClassName: self = .protectionClass
        case Self.accessName: self = .accessList
        case Self.defaultName: self = .defaultList
        case _ where Self.prefixes.contains(name): self = .nameless
        case Self.conflictName: self = .stored
        case _ where name.starts(with: Self.reserved): self = .unknown
        default: self = Self.prefixes.contains { name.starts(with: $0) } ? .stored : .unknown
        }
    }

    /// Whether the vault stores attributes of this kind.
    func isKept(enforcingLists: Bool) -> Bool {
        switch self {
        case .stored: true
        case .accessList, .defaultList: enforcingLists
        case .protectionClass, .unknown, .nameless: false
        }
    }

    var isList: Bool {
        switch self {
        case .accessList, .defaultList: true
        default: false
        }
    }
}
