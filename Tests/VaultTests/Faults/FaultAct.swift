import Format
import Posix
import Store
import Testing

@testable import Vault

/// One change of a vault, as a request to a mount makes it.
struct FaultAct: Sendable, CustomTestStringConvertible {
    let name: String
    /// A file of which a failure may leave each block as it was or as it was to be: write(2) promises no more.
    let mixed: String?
    /// It takes two steps of which the first is taken back when the second fails: a disk that refuses that too keeps it.
    /// Why no more is at stake than it says here.
    let halfDone: String?
    /// What comes before, which does not fail; what it returns is the act.
    let prepare: @Sendable (FaultScene) throws -> () throws -> Void

    init(
        _ name: String, mixing mixed: String? = nil, halfDone: String? = nil,
        _ prepare: @escaping @Sendable (FaultScene) throws -> () throws -> Void
    ) {
        self.name = name
        self.mixed = mixed
        self.halfDone = halfDone
        self.prepare = prepare
    }

    /// Of an act that needs nothing before.
    static func act(
        _ name: String, mixing mixed: String? = nil, halfDone: String? = nil,
        _ run: @escaping @Sendable (FaultScene) throws -> Void
    ) -> FaultAct {
        FaultAct(name, mixing: mixed, halfDone: halfDone) { scene in { try run(scene) } }
    }

    var testDescription: String { name }

    static let all = contents + files + names + folders + metadata
}
