import Administration
import Control
import Posix

/// What `latchkey doctor` has found out about the folder of a vault.
struct StoreReport {
    let folder: Path
    /// Nil unless the vault is mounted by this user.
    let mountPoint: Path?
    let isVault: Bool
    let facts: StoreFacts

    var losesData: Bool { facts.findings.contains { $0.severity == .losesData } }
}

// MARK: JSON

extension StoreReport: Encodable {
    private enum Key: String, CodingKey {
        case folder, folderBase64, mountPoint, mountPointBase64, isVault, kind, fileSystem, source, sourceBase64,
            isLocal
        case isReadOnly, facts, findings
    }

    private struct Fact: Encodable {
        let answer: String
        let number: Int64?
        let errno: String?

        init(_ fact: StoreFact) {
            (answer, number) =
                switch fact.answer {
                case .yes: ("yes", nil)
                case .no: ("no", nil)
                case .number(let number): ("number", number)
                case .unknown: ("unknown", nil)
                }
            errno = fact.errno?.name
        }
    }

    private struct Finding: Encodable {
        let code, severity, text: String

        init(_ finding: StoreFinding) {
            code = finding.problem.rawValue
            severity = finding.severity.rawValue
            text = finding.sentence
        }
    }

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        try fields.encode(folder, .folder, .folderBase64)
        if let mountPoint { try fields.encode(mountPoint, .mountPoint, .mountPointBase64) }
        try fields.encode(isVault, forKey: .isVault)
        try fields.encode(facts.kind.engine, forKey: .kind)
        try fields.encode(facts.kind.name, forKey: .fileSystem)
        try fields.encode(facts.kind.source, .source, .sourceBase64)
        try fields.encode(facts.kind.isLocal, forKey: .isLocal)
        try fields.encode(facts.isReadOnly, forKey: .isReadOnly)
        let pairs = StoreFeature.allCases.map { ($0.rawValue, Fact(facts[$0])) }
        try fields.encode(Dictionary(uniqueKeysWithValues: pairs), forKey: .facts)
        try fields.encode(facts.findings.map(Finding.init), forKey: .findings)
    }
}

extension KeyedEncodingContainer {
    fileprivate mutating func encode(_ path: Path, _ text: Key, _ base64: Key) throws {
        let (shown, bytes) = PathInJSON.pair(path)
        try encode(shown, forKey: text)
        try encodeIfPresent(bytes, forKey: base64)
    }
}
