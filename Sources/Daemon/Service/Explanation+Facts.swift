import Control
import Format
import Mount
import Posix
import Vault

extension Explanation {
    /// Describes a file's facts in words: what its class allows for this file in this state.
    init(_ facts: ProtectionFacts, in state: Status.State) {
        let kind: Kind =
            switch facts.kind {
            case .regular: .file
            case .directory: .directory
            case .symbolicLink: .link
            default: .other
            }
        self.init(
            kind: kind, class: facts.protectionClass?.name, isExplicit: facts.isExplicit,
            directoryClass: facts.directoryClass?.name,
            wrappedBy: kind == .file ? facts.protectionClass?.wrappingKey : nil, hasKeyInMemory: facts.hasKeyInMemory,
            actions: Self.actions(kind, facts, state), backingPath: facts.backingPath, state: state,
            damage: facts.damage.map { Damage($0) }, older: facts.stale.map { Older($0) })
    }

    private static func actions(_ kind: Kind, _ facts: ProtectionFacts, _ state: Status.State) -> [Action] {
        if let damage = facts.damage, damage.isWhole {
            return [Action(name: "open", allowed: false, reason: damage.reasons.first)]
        }
        if facts.isRefused, let stale = facts.stale { return actions(kind, facts, state, refusing: stale) }
        return possibleActions(kind, facts, state)
    }

    /// What is possible with something that is older than this machine has seen, and refused for that.
    private static func actions(
        _ kind: Kind, _ facts: ProtectionFacts, _ state: Status.State, refusing stale: StaleObject
    ) -> [Action] {
        func refused(_ name: String) -> Action {
            let reason = "older than this machine has seen, and refused until it is accepted"
            return Action(name: name, allowed: false, reason: reason)
        }
        switch stale.kind {
        case .file:
            return [
                Action(name: "stat, remove, change mode and owner", allowed: true),
                refused("open, rename, link, change its class"),
            ]
        case .directory:
            return [
                Action(name: "stat, open and remove what is in it by its path", allowed: true),
                refused("list, create and rename in it, change its class and its name"),
            ]
        case .symbolicLink:
            return [Action(name: "stat, rename, remove", allowed: true), refused("read its target")]
        case .attribute(let name?):
            return possibleActions(kind, facts, state) + [
                refused("\("read the attribute \(Path(bytes: name))" as Printable)")
            ]
        case .block(let number):
            return possibleActions(kind, facts, state) + [refused("read its block \(number), and change a part of it")]
        case .attribute(nil):
            return possibleActions(kind, facts, state) + [refused("read and change its attributes")]
        }
    }

    private static func possibleActions(_ kind: Kind, _ facts: ProtectionFacts, _ state: Status.State) -> [Action] {
        let metadata = Action(name: "stat, rename, link, remove, change mode and owner", allowed: true)
        guard let protectionClass = facts.protectionClass else { return [metadata] }
        let reason = facts.canOpen ? nil : protectionClass.absence(in: state)
        switch kind {
        case .file:
            // Class B: a file that is open can be used until its last close.
            let lives = protectionClass == .completeUnlessOpen && facts.handles > 0 && facts.hasKeyInMemory
            let throughHandle = facts.canOpen || lives
            return [
                metadata,
                Action(name: "open", allowed: facts.canOpen, reason: reason),
                Action(
                    name: "read and write through handles opened earlier", allowed: throughHandle,
                    reason: throughHandle ? nil : facts.handles == 0 ? "no program has it open" : reason),
                Action(
                    name: "change its class", allowed: facts.canOpen,
                    reason: reason.map { "its file key has to be wrapped anew; \($0)" }),
            ]
        case .directory:
            // Class B needs only its public key to create a file.
            let creates = facts.canOpen || protectionClass == .completeUnlessOpen
            return [
                metadata,
                Action(name: "list", allowed: true),
                Action(
                    name: "create files of its class in it", allowed: creates, reason: creates ? nil : reason),
                Action(name: "change its class", allowed: true),
            ]
        case .link, .other:
            return [metadata]
        }
    }
}

extension Explanation.Damage {
    fileprivate init(_ damage: Mount.Damage) {
        self.init(
            reasons: damage.reasons, refusals: damage.refusals, first: Duration(damage.first).seconds,
            last: Duration(damage.last).seconds, isWhole: damage.isWhole)
    }
}

extension Explanation.Older {
    fileprivate init(_ stale: StaleObject) {
        let verdict: Verdict =
            switch stale.verdict {
            case .conflict: .conflict
            case .back: .back
            case .older, .same, .newer: .older
            }
        self.init(
            what: "\(stale.reason)", verdict: verdict, seen: Double(stale.remembered.time),
            written: stale.written.map { Double($0) })
    }
}

extension ProtectionClass {
    /// The key that wraps the class's file keys.
    fileprivate var wrappingKey: String {
        switch self {
        case .complete: "class key A, in memory only while unlocked"
        case .completeUnlessOpen: "class B's key pair, its private half in memory only while unlocked"
        case .completeUntilFirstUserAuthentication: "class key C, in memory from an unlock to a deep lock or unmount"
        case .none: "class key D, which the device key alone releases: in memory always"
        }
    }

    /// Why existing files of the class cannot be opened.
    fileprivate func absence(in state: Status.State) -> String {
        switch (self, state) {
        case (_, .beforeFirstUnlock): "the class key is not in memory until the next unlock"
        case (_, .locking): "the class key is being taken out of memory"
        default: "the class key is not in memory while locked"
        }
    }
}
