import Format
import Posix
import Store
import Testing

@testable import Vault

/// One change of a vault, as a request to a mount makes it.
struct FaultAct: Sendable, CustomTestStringConvertible {
    let name: String
    /// A file of which a failure may leave each block old or new: write(2) promises no more.
    let mixed: String?
    /// Why a half-done change is acceptable. The act takes two steps, and the first is undone when the second fails; a
    /// disk that refuses the undo too keeps the first step.
    let halfDone: String?
    /// Prepares the act, without faults, and returns the act.
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

    /// An act that needs no preparation.
    static func act(
        _ name: String, mixing mixed: String? = nil, halfDone: String? = nil,
        _ run: @escaping @Sendable (FaultScene) throws -> Void
    ) -> FaultAct {
        FaultAct(name, mixing: mixed, halfDone: halfDone) { scene in { try run(scene) } }
    }

    var testDescription: String { name }

    static let all = contents + files + names + folders + metadata
}
