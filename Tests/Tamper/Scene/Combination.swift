/// A vault with several changes at once, and the paths that they concern.
public struct Combination {
    public internal(set) var image: BackingImage
    public internal(set) var paths: Set<String> = []
    public internal(set) var tries = 0
}

/// Takes independent attempts from a row, spread over all of them.
final class Collector {
    private let scene: TamperScene
    private let stride: Int?
    private(set) var combination: Combination
    private(set) var count = 0

    /// - Parameter stride: takes one attempt in this many; nil only counts.
    init(_ scene: TamperScene, stride: Int?) {
        self.scene = scene
        self.stride = stride
        combination = Combination(image: scene.current)
    }

    func wants(_ index: Int) -> Bool {
        count += 1
        return stride.map { index % $0 == 0 } ?? false
    }

    func add(_ paths: [String], _ change: (inout BackingImage) -> Void) {
        // Folders that only list a changed entry may be read for several attempts.
        let own = paths.filter { path in !paths.contains { $0 != path && (path.isEmpty || $0.hasPrefix(path + "/")) } }
        guard combination.tries == 0 || combination.paths.isDisjoint(with: own) else { return }
        var image = combination.image
        change(&image)
        // Without its root a vault is not mounted at all.
        guard scene.knowledge.expected("", in: image) != .refused else { return }
        combination.image = image
        combination.paths.formUnion(paths)
        combination.tries += 1
    }
}
