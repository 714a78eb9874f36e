/// One row of the table: a kind of attack, with all its attempts.
public struct Attack: Sendable {
    public let name: String
    /// The deviation that the attack may cause; nil for right bytes or EIO only.
    public let documented: Documented?
    private let attempts: @Sendable (TamperScene, Bench.Extent) throws -> Tally
    /// Nil for an attack on keybag or journal, which is on the vault as a whole.
    private let attemptsOnFiles: (@Sendable (Bench) throws -> Void)?

    init(_ name: String, _ documented: Documented? = nil, _ attempts: @escaping @Sendable (Bench) throws -> Void) {
        self.name = name
        self.documented = documented
        attemptsOnFiles = attempts
        self.attempts = { (scene, extent) in
            let bench = Bench(scene, extent, documented: documented)
            try attempts(bench)
            return bench.tally
        }
    }

    init(
        _ name: String, _ documented: Documented? = nil,
        tallying attempts: @escaping @Sendable (TamperScene, Bench.Extent) throws -> Tally
    ) {
        self.name = name
        self.documented = documented
        self.attempts = attempts
        attemptsOnFiles = nil
    }

    public func run(on scene: TamperScene, _ extent: Bench.Extent) throws -> Tally { try attempts(scene, extent) }

    /// Several independent attempts at once; nil if they cannot be combined.
    ///
    /// - Parameter most: the number of attempts to combine, spread over all of them.
    public func combined(on scene: TamperScene, of most: Int) throws -> Combination? {
        guard let attemptsOnFiles else { return nil }
        let counter = Collector(scene, stride: nil)
        try attemptsOnFiles(Bench(scene, collectingFor: counter))
        let collector = Collector(scene, stride: max(1, counter.count / most))
        try attemptsOnFiles(Bench(scene, collectingFor: collector))
        return collector.combination
    }

    public static let all = control + bytes + blocks + files + names + directories + metadata + keybag + journal
}

extension Attack {
    private static let control = [
        Attack("change nothing") { bench in
            try bench.attempt("nothing", lookingAt: nil) { $0.add("lk.tmp.control", .file([])) }
        }
    ]
}

extension TamperScene {
    /// The other names of the file at a path: an attack on the file shows under all of them.
    func names(ofFileAt path: String) -> [String] {
        let number = current.names[backing(path)]
        return knowledge.paths.filter { $0 != "" && current.names[backing($0)] == number }
    }
}
