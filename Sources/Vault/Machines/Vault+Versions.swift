import Format
import Freshness

// Two machines that change a file apart from each other write headers whose generations say nothing of each other. So
// a synchronised vault also remembers the newest version that each machine has written: docs/FRESHNESS.md.

extension Vault {
    /// Whether a version is one that another machine has written, and that this one has never seen: it may have been
    /// written at the same time as what is remembered, and a synchronisation program has chosen it. So is any version
    /// of a file that this machine has removed or renamed: another machine may have renamed its folder meanwhile.
    ///
    /// - Parameters:
    ///   - found: the header's mark.
    ///   - machine: the one that has written the header.
    func isUnseenVersion(_ found: Mark, by machine: UInt32, at key: MarkKey) -> Bool {
        guard isSynchronised, let freshness else { return false }
        if freshness.marks[key]?.isGone == true { return true }
        guard machine != 0 else { return false }
        guard let seen = freshness.marks[key.version(by: machine)] else { return machine != machineNumber }
        return found.generation > seen.generation
    }

    /// What this machine has seen of the machine that has written a version, if that is as new, and something else
    /// counts at the name by now: the version is an older one, whatever its generation. Nil if it is not.
    func seenVersion(_ found: Mark, by machine: UInt32, at key: MarkKey) -> Mark? {
        guard isSynchronised, machine != 0, let freshness, let known = freshness.marks[key],
            !known.isGone, !known.isSameVersion(as: found), let seen = freshness.marks[key.version(by: machine)],
            found.generation <= seen.generation
        else { return nil }
        return seen
    }

    /// The highest generation that this machine has written at a name; the next one is higher, whatever is there.
    func ownGeneration(at key: MarkKey) -> UInt64 {
        isSynchronised ? freshness?.marks[key.version(by: machineNumber)]?.generation ?? 0 : 0
    }

    /// Remembers a version that was found, or written, at a name.
    func noteVersion(_ mark: Mark, by machine: UInt32, at key: MarkKey, isOwn: Bool) {
        guard isSynchronised, machine != 0, let freshness, freshness.remembers, !isReadOnly else { return }
        var version = mark
        version.kind = .version
        version.isGone = false
        freshness.marks.note(version, of: key.version(by: machine), isOwn: isOwn)
    }

    /// A version that another machine has written apart from this one is what counts at a name from now on.
    func takeVersion(_ found: Mark, by machine: UInt32, at key: MarkKey) {
        guard let freshness else { return }
        noteVersion(found, by: machine, at: key, isOwn: false)
        guard freshness.remembers, !isReadOnly else { return }
        freshness.marks.replace(by: found, at: key)
        freshness.accepted(key)
    }
}
