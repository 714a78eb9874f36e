import Posix

/// How far a rotation of the keys has come.
public struct RotationProgress: Hashable, Sendable {
    /// Files that this walk has looked at.
    public var files: UInt64 = 0
    /// Of how much of the tree, about: 0 to 1.
    public var fraction = 0.0
    /// Files that were given the new keys since the vault was opened.
    public var renewed: UInt64 = 0
    /// Files and folders of this walk that nothing could be done with, and why of the first.
    public var failed: UInt64 = 0
    public var failure: String?

    mutating func begin() {
        files = 0
        fraction = 0
        failed = 0
        failure = nil
    }
}

/// Where a walk is, for people and to find the way back; names from the vault's root, or from what has moved.
final class WalkPath: Sendable, CustomStringConvertible {
    let parent: WalkPath?
    let name: Name

    init(_ name: Name, in parent: WalkPath?) {
        self.name = name
        self.parent = parent
    }

    var description: String {
        var names: [String] = []
        var walkPath: WalkPath? = self
        while let current = walkPath {
            names.append(current.name.description)
            walkPath = current.parent
        }
        return names.reversed().joined(separator: "/")
    }
}
