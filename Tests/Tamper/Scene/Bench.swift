import Posix
import Synchronization

/// Makes attempts one after the other, each on a vault that is opened anew.
public final class Bench {
    /// Which attempts are made.
    public enum Extent: Sendable {
        case all
        /// The first few of each row, and then one in every `every`: always the same ones.
        case sample(every: Int)

        func wants(_ index: Int) -> Bool {
            switch self {
            case .all: true
            case .sample(let every): index < 8 || index % every == 0
            }
        }
    }

    public let scene: TamperScene
    private let extent: Extent
    private let documented: Documented?
    private var index = 0
    private let collector: Collector?
    public private(set) var tally = Tally()

    /// The number of the current attempt, so that one that never ends can be found.
    public static let progress = Atomic<Int>(0)

    public init(_ scene: TamperScene, _ extent: Extent, documented: Documented? = nil) {
        self.scene = scene
        self.extent = extent
        self.documented = documented
        collector = nil
    }

    /// Makes no attempts itself: hands them to the collector.
    init(_ scene: TamperScene, collectingFor collector: Collector) {
        self.scene = scene
        extent = .all
        documented = nil
        self.collector = collector
    }

    /// Changes the vault, reads some paths, and judges what is seen there.
    ///
    /// - Parameters:
    ///   - what: describes the change.
    ///   - paths: nil for all paths.
    ///   - change: is made to a copy.
    public func attempt(
        _ what: @autoclosure () -> String, lookingAt paths: @autoclosure () -> [String]?,
        _ change: (inout BackingImage) -> Void
    ) throws {
        defer { index += 1 }
        if let collector {
            if collector.wants(index) { collector.add(paths() ?? scene.knowledge.paths, change) }
            return
        }
        guard extent.wants(index) else { return }
        let paths = paths() ?? scene.knowledge.paths
        var image = scene.current
        change(&image)
        try scene.folder.hold(image)
        judge(what(), paths, image, isReadOnly: true)
        // As the daemon opens it: its repairs and updates must not bring planted data to life.
        guard tally.tries % 64 == 1 else { return }
        judge(what() + ", opened to write", paths, image, isReadOnly: false)
        try scene.folder.hold(image, afresh: true)
    }

    private func judge(_ what: String, _ paths: [String], _ image: BackingImage, isReadOnly: Bool) {
        Self.progress.add(1, ordering: .relaxed)
        var seen: [String: Seen] = [:]
        do {
            let (vault, root) = try scene.open(isReadOnly: isReadOnly)
            let reader = VaultReader(vault, root: root)
            for path in paths { seen[path] = reader.see(path) }
            if !isReadOnly { try vault.close() }
        } catch {
            for path in paths where seen[path] == nil { seen[path] = VaultReader.refusal(error) }
        }
        tally.count(
            Tally.Outcome(
                seen: seen, expected: { scene.knowledge.expected($0, in: image) }, written: { scene.written[$0]! },
                documented: documented),
            what)
    }
}
