/// What protects one file or directory; the type `Explanation` of `io.latchkey`.
public struct Explanation: Codable, Hashable, Sendable {
    public enum Kind: String, Codable, Hashable, Sendable {
        case file, directory, link, other
    }

    /// An operation on the file, and the reason if it is refused in the present lock state.
    public struct Action: Codable, Hashable, Sendable {
        public var name: String
        public var allowed: Bool
        public var reason: String?

        public init(name: String, allowed: Bool, reason: String? = nil) {
            self.name = name
            self.allowed = allowed
            self.reason = reason
        }
    }

    /// Damage that the daemon has noticed since the mount.
    public struct Damage: Codable, Hashable, Sendable {
        /// Each reason once.
        public var reasons: [String]
        /// How many requests were refused for it.
        public var refusals: Int
        /// When it was noticed first and last, in seconds since 1970.
        public var first: Double
        public var last: Double
        /// Whether nothing of it can be read.
        public var isWhole: Bool

        public init(reasons: [String], refusals: Int, first: Double, last: Double, isWhole: Bool) {
            self.reasons = reasons
            self.refusals = refusals
            self.first = first
            self.last = last
            self.isWhole = isWhole
        }
    }

    /// What is older than what this machine has seen.
    public struct Older: Codable, Hashable, Sendable {
        public enum Verdict: String, Codable, Hashable, Sendable {
            /// An older version.
            case older
            /// What was removed, or had another name.
            case back
            /// Another version of the same age: two machines have changed the file apart from each other.
            case conflict
        }

        /// What is older: the file, the folder, or an attribute of it, in words.
        public var what: String
        public var verdict: Verdict
        /// When this machine saw the newer version, or the file losing its name, in seconds since 1970.
        public var seen: Double
        /// When the version that is there was written, in seconds since 1970; nil of what has no header.
        public var written: Double?

        public init(what: String, verdict: Verdict, seen: Double, written: Double?) {
            self.what = what
            self.verdict = verdict
            self.seen = seen
            self.written = written
        }
    }

    public var kind: Kind
    /// The class's long name; nil for a file that has no class.
    public var `class`: String?
    /// Whether the class was set on the file itself, and not inherited.
    public var isExplicit: Bool
    /// The class that the file's directory gives to new files.
    public var directoryClass: String?
    /// The key that releases the file key, in words.
    public var wrappedBy: String?
    public var hasKeyInMemory: Bool
    public var actions: [Action]
    /// Where the ciphertext lies, relative to the vault.
    public var backingPath: String
    public var state: Status.State
    /// Nil if none was noticed, or from an older daemon.
    public var damage: Damage?
    /// Nil if nothing newer was seen, or from an older daemon.
    public var older: Older?

    public init(
        kind: Kind, class: String?, isExplicit: Bool, directoryClass: String?, wrappedBy: String?, hasKeyInMemory: Bool,
        actions: [Action], backingPath: String, state: Status.State, damage: Damage? = nil,
        older: Older? = nil
    ) {
        self.kind = kind
        self.class = `class`
        self.isExplicit = isExplicit
        self.directoryClass = directoryClass
        self.wrappedBy = wrappedBy
        self.hasKeyInMemory = hasKeyInMemory
        self.actions = actions
        self.backingPath = backingPath
        self.state = state
        self.damage = damage
        self.older = older
    }
}
