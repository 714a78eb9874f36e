public import Format

/// How new a file under a name is, beside what this machine remembers.
public enum Verdict: Hashable, Sendable {
    case same
    case newer
    /// An older version was put back.
    case older
    /// A file that had lost this name is back, with a version of then.
    case back
    /// Another header of the same generation: two machines have changed the file apart from each other.
    case conflict

    public var isFresh: Bool { self == .same || self == .newer }
}

extension Mark {
    /// What was found, compared with this.
    public func verdict(on found: Mark) -> Verdict {
        if isGone { return found.generation > generation ? .newer : .back }
        guard found.generation == generation else { return found.generation > generation ? .newer : .older }
        if found.digest != digest { return .conflict }
        guard found.blocks == blocks else { return found.blocks > blocks ? .newer : .older }
        return .same
    }

    /// Whether this mark tells of the version that another one does.
    public func isSameVersion(as other: Mark) -> Bool {
        !isGone && !other.isGone && generation == other.generation && digest == other.digest
    }

    /// Whether this mark tells of something newer than another one does of the same name.
    func isNewer(than other: Mark) -> Bool {
        if generation != other.generation { return generation > other.generation }
        if isGone || other.isGone { return isGone && !other.isGone }
        // What only confirms more is not remembered: its time is the same, and a copy may have missed it.
        return false
    }
}
