import Posix

/// What is known of a store: its kind, and an answer for each feature.
public struct StoreFacts: Hashable, Sendable {
    public let kind: StoreKind
    /// Nothing was tried: the store, or its folder for this user, takes no writes.
    public internal(set) var isReadOnly = false
    private var facts: [StoreFeature: StoreFact]

    /// What is known of the kind, without asking the store.
    public init(_ kind: StoreKind) {
        self.kind = kind
        facts = kind.known
    }

    /// Unknown if nobody has found it out.
    public internal(set) subscript(feature: StoreFeature) -> StoreFact {
        get { facts[feature] ?? .unknown }
        set { facts[feature] = newValue }
    }

    /// Unless it is known that not.
    public var takesAttributes: Bool { !self[.userAttributes].isNo }
    /// Whether an inode keeps its number while nothing has it open, unless it is known that not.
    public var keepsInodeNumbers: Bool {
        kind.isLocal || !self[.lastingInodes].isNo && !self[.inodeAfterReopening].isNo
    }
    /// Whether a hard link gives one inode two names, unless it is known that not.
    public var linksInodes: Bool { !self[.hardLinks].isNo && !self[.inodeOfHardLinks].isNo }
}
