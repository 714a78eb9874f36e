/// What the files must hold, since all tasks run one at a time: each change is told here at the moment of its effect.
struct Oracle {
    /// The versions that an object had. Each block of a file is a number that no other write has.
    struct Track<Version: Equatable> {
        private(set) var versions: [Version]
        /// The last version that outlives the process, and the last one that outlives a power loss.
        private var closed = 0
        private var synced = 0
        /// From which version on any may be there; nil if the last one is.
        private var floor: Int?

        init(_ version: Version) { versions = [version] }

        var current: Version { versions[versions.count - 1] }

        mutating func change(_ version: Version) { versions.append(version) }
        mutating func close() { closed = versions.count - 1 }

        mutating func sync() {
            close()
            synced = closed
        }

        mutating func loseProcess() { floor = min(floor ?? closed, closed) }
        mutating func losePower() { floor = min(floor ?? synced, synced) }

        /// A machine has read the object. What is wrong with that; nil if nothing is.
        mutating func read(_ version: Version, isMade: (Version, ArraySlice<Version>) -> Bool) -> String? {
            guard let floor else { return version == current ? nil : "\(version) is not \(current)" }
            guard isMade(version, versions[floor...]) else { return "\(version) is none of \(versions[floor...])" }
            versions.append(version)
            closed = versions.count - 1
            self.floor = nil
            return nil
        }
    }

    var files: [Track<[Int]>]
    var folder: Track<[Int]>

    init(files count: Int) {
        files = Array(repeating: Track([]), count: count)
        folder = Track(Array(0..<count))
    }

    /// Each block is that of a version, and the length one that is between those of versions.
    static func isMade(_ file: [Int], of versions: ArraySlice<[Int]>) -> Bool {
        versions.contains { $0.count >= file.count } && versions.contains { $0.count <= file.count }
            && file.indices.allSatisfy { index in
                versions.contains { $0.indices.contains(index) && $0[index] == file[index] }
            }
    }
}
