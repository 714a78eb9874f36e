import Posix

/// The progress of a key rotation.
public struct RotationProgress: Hashable, Sendable {
    /// Files of this walk.
    public var files: UInt64 = 0
    /// The share of the tree that this walk has done, about, 0 to 1.
    public var fraction = 0.0
    /// Files that got the new keys since the vault was opened.
    public var renewed: UInt64 = 0
    /// Files and folders of this walk that failed, and the first failure.
    public var failed: UInt64 = 0
    public var failure: String?

    mutating func begin() {
        files = 0
        fraction = 0
        failed = 0
        failure = nil
    }
}

/// The path of a walk, for messages and to find the way back: names from the vault's root, or from the renamed entry.
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
