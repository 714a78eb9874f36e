/// What this machine has leases of. A value: `Leases` guards it.
struct LeaseTable {
    private struct Entry {
        var held: LeaseKind?
        /// Requests that use the object now.
        var users = 0
        /// A thread takes the lease, or gives it up.
        var isBusy = false
        /// Another machine waits for it.
        var wished: LeaseKind?
        /// Rises with each use of any object.
        var lastUse = 0

        func allows(_ kind: LeaseKind) -> Bool {
            guard !isBusy, let held, held >= kind else { return false }
            // No request begins that another machine would have to wait for.
            return wished.map { !$0.conflicts(with: held) } ?? true
        }
    }
    private var entries: [LeaseObject: Entry] = [:]
    /// Of which entries another machine has a wish.
    private var wished: Set<LeaseObject> = []
    /// What no request will ask for any more.
    private var ended: Set<LeaseObject> = []
    private var uses = 0

    enum Entrance {
        case entered
        /// Another thread takes the lease or gives it up, or is to give it up.
        case busy
        /// This thread is the one that takes it. It has a lower one now, or none.
        case lacking(LeaseKind?)
    }

    mutating func enter(_ object: LeaseObject, _ kind: LeaseKind) -> Entrance {
        var entry = entries[object, default: Entry()]
        defer { entries[object] = entry }
        if entry.allows(kind) {
            entry.users += 1
            uses += 1
            entry.lastUse = uses
            return .entered
        }
        // A higher lease is taken while no request uses the lower one: that may have to be given up for it.
        guard !entry.isBusy, entry.users == 0, entry.wished == nil || entry.held == nil else { return .busy }
        entry.isBusy = true
        return .lacking(entry.held)
    }

    func canEnter(_ object: LeaseObject, _ kind: LeaseKind) -> Bool {
        guard let entry = entries[object] else { return true }
        return entry.allows(kind)
            || (!entry.isBusy && entry.users == 0 && (entry.wished == nil || entry.held == nil))
    }

    mutating func leave(_ object: LeaseObject) { entries[object]?.users -= 1 }

    /// Ends what `enter`, `beginGivingUp` or `beginGivingUpAny` has begun.
    mutating func end(_ object: LeaseObject, with held: LeaseKind?) {
        entries[object]?.isBusy = false
        entries[object]?.held = held
        entries[object]?.wished = nil
        wished.remove(object)
        if held == nil, entries[object]?.users == 0 { entries[object] = nil }
    }

    /// What is to be given up for another machine.
    struct Handover {
        let object: LeaseObject
        let held: LeaseKind
        /// What this machine can keep.
        let kept: LeaseKind?
    }

    /// Notes what other machines wait for. What they do not wait for any more is in no request's way.
    ///
    /// - Returns: what this thread is to give up. Where requests use the object still, it waits for the next time.
    mutating func beginGivingUp(_ wishes: [Wish]) -> [Handover] {
        for object in wished { entries[object]?.wished = nil }
        wished = []
        for wish in wishes {
            guard let held = entries[wish.object]?.held, wish.kind.conflicts(with: held) else { continue }
            let kind = max(entries[wish.object]?.wished ?? wish.kind, wish.kind)
            entries[wish.object]?.wished = kind
            wished.insert(wish.object)
        }
        return wished.sorted { $0.number < $1.number }.compactMap { object in
            guard let entry = entries[object], !entry.isBusy, entry.users == 0, let held = entry.held else {
                return nil
            }
            entries[object]?.isBusy = true
            return Handover(object: object, held: held, kept: entry.wished == .read && held == .write ? .read : nil)
        }
    }

    /// Of the leases that no request uses, the one whose last use is longest ago.
    mutating func beginGivingUpAny() -> Handover? {
        let idle = entries.lazy.filter { $0.value.users == 0 && !$0.value.isBusy && $0.value.held != nil }
        guard let (object, entry) = idle.min(by: { $0.value.lastUse < $1.value.lastUse }), let held = entry.held else {
            return nil
        }
        entries[object]?.isBusy = true
        return Handover(object: object, held: held, kept: nil)
    }

    mutating func noteEnd(of object: LeaseObject) { if entries[object] != nil { ended.insert(object) } }

    /// Of what was noted, the next one that no request uses.
    mutating func beginGivingUpEnded() -> Handover? {
        for object in ended {
            guard let entry = entries[object] else {
                ended.remove(object)
                continue
            }
            guard !entry.isBusy, entry.users == 0, let held = entry.held else { continue }
            ended.remove(object)
            entries[object]?.isBusy = true
            return Handover(object: object, held: held, kept: nil)
        }
        return nil
    }

    var objects: Int { entries.count }

    func held(_ object: LeaseObject) -> LeaseKind? { entries[object]?.held }
}
