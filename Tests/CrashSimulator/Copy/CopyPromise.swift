import Format
import Posix
import TestStores

/// The oracle for a copy of a vault that was made while the vault was in use.
///
/// What did not change while the copy was made is the same in the copy. Of a file that changed, each block is one that
/// the file had, or is refused; each name leads to an inode that it led to at some time.
struct CopyPromise {
    private let ledger: Ledger
    /// The names, contents and classes from before the copying began: they hold for all that did not change since.
    private let before: Promise
    /// The same with each change until the copying ended.
    private let during: Promise
    /// The inodes that changed in this time.
    private var changed: Set<RecordedInode> = []
    private var links: Set<Link> = []

    private struct Link: Hashable {
        let slot: Slot
        let inode: RecordedInode
    }

    /// - Parameters:
    ///   - quiet: the number of records after which nothing may have changed for a file to count as unchanged.
    ///   - end: the number of records when the copying ended.
    init(_ recorded: Promise, quietSince quiet: Int, to end: Int) {
        ledger = recorded.ledger
        var promise = recorded
        promise.advance(to: quiet)
        before = promise
        during = promise.during(end)
        for (inode, history) in promise.files where history.versions.count > 1 { changed.insert(inode) }
        for pending in during.pending {
            changed.formUnion(pending.change.inodes)
            for slot in pending.change.slots {
                links.formUnion(pending.change.inodes.map { Link(slot: slot, inode: $0) })
            }
        }
        for (inode, history) in during.files where history.versions.count > 1 { changed.insert(inode) }
        for (inode, history) in during.protections where !history.pending.isEmpty { changed.insert(inode) }
        for (directory, inode) in before.durable.inodes {
            for (name, child) in inode.entries { links.insert(Link(slot: Slot(name, in: directory), inode: child)) }
        }
    }

    /// What an observation of the copy shows and the promise does not allow.
    func violations(in observation: Observation) -> [Violation] {
        let seen = Sightings(observation, during)
        var violations = seen.strangers.map { Violation(.names, "\($0) was never made") }
        addLost(in: .root, seen, &violations)
        for (directory, folder) in seen.folders {
            for (name, entry) in folder.entries {
                let inode: RecordedInode? =
                    switch entry {
                    case .file(let file): ledger.files[file.identifier]
                    case .directory(let identifier): ledger.directories[identifier]
                    case .symbolicLink, .other, .damaged: nil
                    }
                guard let inode, !links.contains(Link(slot: Slot(name, in: directory), inode: inode)) else { continue }
                violations.append(Violation(.names, "\(name) in \(folder.path) never led there"))
            }
        }
        for (inode, sighting) in seen.files {
            if let bytes = sighting.file.bytes, let flaw = during.files[inode]?.flaw(in: bytes) {
                violations.append(Violation(.contents, "\(sighting.path): \(flaw)"))
            }
            if let flaw = during.files[inode].flatMap({ sighting.flawOfSummary($0) }) { violations.append(flaw) }
            add(inode, sighting.path, sighting.file.protection, to: &violations)
        }
        for (inode, folder) in seen.folders { add(inode, folder.path, folder.protection, to: &violations) }
        return violations
    }

    /// The number of unchanged files that the copy must have.
    var unchangedFiles: Int { before.files.keys.count { !changed.contains($0) } }

    /// Whether the file changed meanwhile.
    func wasChanged(_ file: FileIdentifier) -> Bool { ledger.files[file].map { changed.contains($0) } ?? true }

    // MARK: What did not change

    private func addLost(in directory: RecordedInode, _ seen: Sightings, _ violations: inout [Violation]) {
        guard let folder = seen.folders[directory] else {
            violations.append(Violation(.directory, "the unchanged directory \(directory.number) does not open"))
            return
        }
        for (name, inode) in before.durable.inodes[directory]!.entries where !changed.contains(inode) {
            // Another link or another file may have taken this name.
            if during.pending.contains(where: { $0.change.slots.contains(Slot(name, in: directory)) }) { continue }
            let path = "\(folder.path)/\(name.description.prefix(20))"
            guard let entry = folder.entries[name], seen.shows(inode, at: Slot(name, in: directory)) else {
                violations.append(Violation(.names, "\(path), which did not change, is gone"))
                continue
            }
            switch entry {
            case .damaged: violations.append(Violation(.entry, "\(path), which did not change, does not open"))
            case .file(let file) where file.bytes == nil:
                violations.append(Violation(.unreadable, "\(path), which did not change, does not read"))
            case .directory: addLost(in: inode, seen, &violations)
            case .file, .symbolicLink, .other: break
            }
        }
    }

    private func add(
        _ inode: RecordedInode, _ path: String, _ protection: Protection, to violations: inout [Violation]
    ) {
        guard let history = during.protections[inode] else { return }
        let taken = during.pending.filter { $0.change.inodes.first == inode }.compactMap(\.takes)
        let allowed = Set([history.durable] + history.pending.map(\.protection) + taken)
        guard !allowed.contains(protection) else { return }
        violations.append(Violation(.protection, "\(path): \(protection), not one of \(allowed)"))
    }
}
