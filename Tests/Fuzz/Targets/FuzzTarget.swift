/// A parser, with the properties that must hold whatever bytes it gets.
///
/// Used by one thread at a time. A folder or connection that it needs is made once, and removed with the object.
public protocol FuzzedParser: AnyObject {
    init() throws

    /// Runs the parser over one input.
    ///
    /// - Throws: the property that does not hold. A refusal that the parser may give is no finding.
    func run(_ input: [UInt8]) throws(Finding)
}

/// The parsers, by the names of their corpora in Tests/Fuzz/Corpus.
public enum FuzzTarget: String, CaseIterable, Sendable {
    case block
    case claim
    case config
    case control
    case deviceKey = "device-key"
    case directory
    case file
    case header
    case journal
    case keybag
    case marks
    case names
    case policy
    case recoveryKey = "recovery-key"
    case replay
    case sidecar

    public func makeParser() throws -> any FuzzedParser {
        switch self {
        case .block: try BlockParser()
        case .claim: ClaimParser()
        case .config: ConfigParser()
        case .control: try ControlParser()
        case .deviceKey: DeviceKeyParser()
        case .directory: try DirectoryParser()
        case .file: try FileParser()
        case .header: HeaderParser()
        case .journal: JournalParser()
        case .keybag: try KeybagParser()
        case .marks: try MarksParser()
        case .names: try NameParser()
        case .policy: PolicyParser()
        case .recoveryKey: RecoveryKeyParser()
        case .replay: try ReplayParser()
        case .sidecar: SidecarParser()
        }
    }
}
