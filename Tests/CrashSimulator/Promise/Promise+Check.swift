import Format
import Posix
import TestStores

extension Promise {
    /// What an observation shows and the promise does not allow.
    public func violations(in observation: Observation) -> [Violation] {
        var violations = observation.violations
        let seen = Sightings(observation, self)
        violations += seen.strangers.map { Violation(.names, "\($0) was never made") }
        if let happened = explanation(of: seen) {
            violations += protectionViolations(in: seen, happened)
        } else {
            violations.append(Violation(.names, whatIsWrong(with: seen)))
        }
        for (inode, sighting) in seen.files {
            guard let history = files[inode] else { continue }
            if let bytes = sighting.file.bytes, let flaw = history.flaw(in: bytes) {
                violations.append(Violation(.contents, "\(sighting.path): \(flaw)"))
            }
            if let flaw = sighting.flawOfSummary(history) { violations.append(flaw) }
        }
        return violations
    }

    private func protectionViolations(in seen: Sightings, _ happened: [Bool]) -> [Violation] {
        var violations: [Violation] = []
        func check(_ inode: RecordedInode, _ path: String, _ protection: Protection) {
            guard let history = protections[inode] else { return }
            let allowed = self.allowed(history, for: inode, happened)
            guard !allowed.contains(protection) else { return }
            violations.append(Violation(.protection, "\(path): \(protection), not one of \(allowed)"))
        }
        for (inode, sighting) in seen.files { check(inode, sighting.path, sighting.file.protection) }
        for (inode, folder) in seen.folders { check(inode, folder.path, folder.protection) }
        return violations
    }

    /// The protections that are possible, given which renames that bring a class have happened.
    private func allowed(
        _ history: ProtectionHistory, for inode: RecordedInode, _ happened: [Bool]
    ) -> Set<Protection> {
        var base = history.durable
        var from = 0
        var to = Int.max
        for (pending, happened) in zip(pending, happened) where pending.change.inodes.first == inode {
            guard let taken = pending.takes else { continue }
            if happened {
                base = taken
                from = pending.time
            } else {
                to = min(to, pending.time)
            }
        }
        return Set([base] + history.pending.filter { from...to ~= $0.time }.map(\.protection))
    }

    // MARK: Names

    /// Which pending changes have happened, if some subset of them explains the names that are seen.
    private func explanation(of seen: Sightings) -> [Bool]? {
        // A name is persisted once the last change that touches it is decided.
        var last: [Slot: Int] = [:]
        for (index, pending) in pending.enumerated() {
            for slot in pending.change.slots { last[slot] = index }
        }
        for (inode, folder) in seen.folders {
            let names = Set(folder.entries.keys).union(durable.inodes[inode]!.entries.keys)
            for name in names where last[Slot(name, in: inode)] == nil {
                guard seen.shows(durable[Slot(name, in: inode)], at: Slot(name, in: inode)) else { return nil }
            }
        }
        var happened: [Bool] = []
        func search(_ image: DiskImage) -> Bool {
            let index = happened.count
            guard index < pending.count else { return true }
            let change = pending[index].change
            for choice in [true, false] {
                var image = image
                if choice && !image.apply(change) { continue }
                let isSeen = change.slots.allSatisfy { slot in
                    last[slot] != index || seen.shows(image[slot], at: slot)
                }
                guard isSeen else { continue }
                happened.append(choice)
                if search(image) { return true }
                happened.removeLast()
            }
            return false
        }
        return search(durable) ? happened : nil
    }

    private func whatIsWrong(with seen: Sightings) -> String {
        var wrong: [String] = []
        for (inode, folder) in seen.folders {
            let expected = durable.inodes[inode]!.entries
            for name in Set(expected.keys).union(folder.entries.keys) {
                let slot = Slot(name, in: inode)
                guard !pending.contains(where: { $0.change.slots.contains(slot) }),
                    !seen.shows(expected[name], at: slot)
                else { continue }
                let fate = expected[name] == nil ? "came" : "is gone"
                wrong.append("\(name.description.prefix(20)) in \(folder.path) \(fate)")
            }
        }
        return wrong.isEmpty
            ? "no part of \(pending.count) unfinished changes explains the names" : wrong.joined(separator: "; ")
    }
}

/// What an observation shows, by the ledger's numbers.
struct Sightings {
    struct Sighting {
        let path: String
        let file: Observation.RegularFile

        /// The length that stat(2) shows, if the file never had it.
        func flawOfSummary(_ history: FileHistory) -> Violation? {
            guard !history.allows(length: file.toldLength) else { return nil }
            return Violation(.summary, "\(path): tells of \(file.toldLength) bytes, and has \(file.bytes?.count ?? -1)")
        }
    }

    private(set) var files: [RecordedInode: Sighting] = [:]
    private(set) var folders: [RecordedInode: Observation.Folder] = [:]
    private(set) var strangers: [String] = []
    private let promise: Promise

    init(_ observation: Observation, _ promise: Promise) {
        self.promise = promise
        let ledger = promise.ledger
        for (identifier, folder) in observation.folders {
            guard let inode = ledger.directories[identifier], promise.durable.inodes[inode] != nil else {
                strangers.append(folder.path)
                continue
            }
            folders[inode] = folder
            for (name, entry) in folder.entries {
                guard case .file(let file) = entry else { continue }
                let path = folder.path + "/" + name.description
                guard let inode = ledger.files[file.identifier], promise.durable.inodes[inode] != nil else {
                    strangers.append(path)
                    continue
                }
                files[inode] = Sighting(path: path, file: file)
            }
        }
    }

    /// Whether the name leads to the inode, or to nothing if that is nil. True in a directory that is not seen and for
    /// an entry that does not open: these are violations of their own.
    func shows(_ inode: RecordedInode?, at slot: Slot) -> Bool {
        guard let folder = folders[slot.directory] else { return true }
        switch folder.entries[slot.name] {
        case nil: return inode == nil
        case .damaged: return true
        case .file(let file): return inode != nil && promise.ledger.files[file.identifier] == inode
        case .directory(let directory): return inode != nil && promise.ledger.directories[directory] == inode
        case .symbolicLink(let target):
            return inode.map { promise.durable.inodes[$0]?.kind } == .symbolicLink(target: target)
        case .other: return false
        }
    }
}
