/// One row of the table: a kind of attack, with every try of it that there is.
public struct Attack: Sendable {
    public let name: String
    /// What it may let through; nil for right bytes or EIO and nothing else.
    public let documented: Documented?
    private let attempts: @Sendable (TamperScene, Bench.Extent) throws -> Tally

    init(_ name: String, _ documented: Documented? = nil, _ attempts: @escaping @Sendable (Bench) throws -> Void) {
        self.init(
            name, documented,
            tallying: { (scene, extent) in
                let bench = Bench(scene, extent, documented: documented)
                try attempts(bench)
                return bench.tally
            })
    }

    init(
        _ name: String, _ documented: Documented? = nil,
        tallying attempts: @escaping @Sendable (TamperScene, Bench.Extent) throws -> Tally
    ) {
        self.name = name
        self.documented = documented
        self.attempts = attempts
    }

    public func run(on scene: TamperScene, _ extent: Bench.Extent) throws -> Tally { try attempts(scene, extent) }

    public static let all = bytes + blocks + files + names + directories + metadata + keybag + journal
}

extension TamperScene {
    /// The other names of the file at a path too: all of them show what is done to it.
    func names(ofFileAt path: String) -> [String] {
        let number = current.names[backing(path)]
        return knowledge.paths.filter { $0 != "" && current.names[backing($0)] == number }
    }
}
