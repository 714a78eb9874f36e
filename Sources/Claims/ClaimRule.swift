import Format

/// What a process can tell of another one that has claimed the vault.
struct ClaimRelation: Hashable, Sendable {
    enum Process: Hashable, Sendable, CaseIterable { case alive, ended, unknown }

    var isSameMachine: Bool
    /// The same folder, seen by the same boot of the same machine.
    var isSameFolder: Bool
    var isSameBoot: Bool
    var process: Process
}

/// What this process knows of the store.
struct ClaimSurroundings: Hashable, Sendable {
    /// Whether every program that changes the vault goes through this machine's kernel.
    var isLocal: Bool
    /// Whether this process has the flock(2) on `lk.lock`.
    var hasLock: Bool
}

/// Decides what the last claim on a vault means to a process that wants the next one.
enum ClaimRule: Hashable {
    /// The holder has ended.
    case free
    /// The holder works.
    case inUse
    /// Only time tells: whether the claim changes while it is watched.
    case watch

    /// - Parameters:
    ///   - record: nil if the claim cannot be read: it is being made, or damaged.
    ///   - isWhole: whether it has all its bytes. A process changes nothing before its claim has them, nor before it
    ///     has looked for the next one.
    init(_ record: ClaimRecord?, isWhole: Bool, _ relation: ClaimRelation, in surroundings: ClaimSurroundings) {
        guard let record else {
            // On a local disk, what a crash has left.
            self = !isWhole && surroundings.isLocal && surroundings.hasLock ? .free : .watch
            return
        }
        if record.state == .released {
            self = .free
        } else if record.isShared {
            // The process that has written it may have ended, and others live.
            self = .watch
        } else if record.state == .taking {
            // Its process has ended before the lease of the claim before it was over, as far as is known.
            self = relation.process == .alive ? .inUse : .watch
        } else if relation.process == .alive, relation.isSameFolder {
            // Also with the lock: the file that the holder has locked may have been removed.
            self = .inUse
        } else if surroundings.isLocal, surroundings.hasLock, !record.renews, relation.isSameMachine {
            // The holder used flock(2) on this machine, in this folder or, if this is a copy of it, in another one. In
            // this folder it cannot work any more: this process has the lock, and does not see its process.
            self = .free
        } else if relation.process == .ended {
            self = .free
        } else if relation.process == .alive, !surroundings.isLocal {
            self = .inUse
        } else if relation.process == .alive {
            // A copy, made while the vault was in use by a process that still runs elsewhere on this machine.
            self = record.renews ? .watch : .free
        } else {
            self = .watch
        }
    }
}
