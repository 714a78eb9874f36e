import CrashSimulator
import Format
import Posix
import TestSupport

@testable import Vault

/// Files that one thread writes, renames, links and replaces, also in the middle of a flush: the observer of the
/// store's calls runs on that thread.
final class CheckpointScene: @unchecked Sendable {
    let vault: RecordedVault
    private var files: [(names: [Name], file: RecordedVault.OpenFile)] = []
    /// Includes files that have no name any more.
    private var all: [RecordedVault.OpenFile] = []
    private let folder: RecordedVault.Folder
    private var random: SeededRandom
    private var number = 0

    init(_ vault: RecordedVault, seed: UInt64) throws {
        self.vault = vault
        random = SeededRandom(seed)
        folder = try vault.makeDirectory("folder")
        for _ in 0..<3 {
            let name = fresh()
            files.append(([name], try make(name, in: folder)))
        }
    }

    private func make(_ name: Name, in folder: RecordedVault.Folder) throws -> RecordedVault.OpenFile {
        let file = try vault.makeFile(name, in: folder)
        all.append(file)
        return file
    }

    func chance(_ bound: Int) -> Bool { Int.random(in: 0..<bound, using: &random) == 0 }

    private func fresh() -> Name {
        number += 1
        return Name(bytes: "f\(number)".utf8)!
    }

    private static func isFree(_ file: RecordedVault.OpenFile) -> Bool {
        guard file.file.lock.tryLockExclusive() else { return false }
        file.file.lock.unlockExclusive()
        return true
    }

    /// How often `actWithoutCheckpoint` has found room.
    private(set) var roomCount = 0

    /// Does one random act, if it needs no checkpoint, which a thread that is in one could not begin.
    func actWithoutCheckpoint() throws {
        let journal = try vault.vault.openJournal()
        let count = vault.vault.options.journalSize.part / 2
        guard try journal.reserve(count) else { return }
        journal.unreserve(count)
        roomCount += 1
        try act()
    }

    /// Does one random act, unless this thread holds a lock that the act takes.
    func act() throws {
        guard try vault.vault.openJournal().flushing.withLockIfAvailable({ _ in true }) == true else { return }
        let index = files.indices.randomElement(using: &random)!
        guard Self.isFree(files[index].file) else { return }
        if chance(4), all.allSatisfy(Self.isFree) { return try actOnNames(index) }
        try act(on: files[index].file)
    }

    private func act(on file: RecordedVault.OpenFile) throws {
        let offset =
            chance(3) ? 4096 * Int.random(in: 0..<6, using: &random) : Int.random(in: 0..<25_000, using: &random)
        switch Int.random(in: 0..<11, using: &random) {
        case 0...3: try vault.write(random.bytes(Int.random(in: 1...9000, using: &random)), to: file, at: offset)
        case 4: try vault.append(random.bytes(300), to: file)
        case 5, 6: try vault.truncate(file, to: offset)
        case 7: try file.file.persistLength()
        case 8: try vault.setClass(ProtectionClass.allCases.randomElement(using: &random)!, of: file)
        default: try vault.synchronize(file, dataOnly: !chance(4))
        }
    }

    private func actOnNames(_ index: Int) throws {
        let (names, file) = files[index]
        let name = fresh()
        switch Int.random(in: 0..<5, using: &random) {
        case 0:
            try vault.rename(names[0], of: file, in: folder, to: name)
            files[index].names[0] = name
        case 1:
            try vault.link(names[0], of: file, in: folder, to: name, in: folder)
            files[index].names.append(name)
        case 2 where names.count > 1:
            try vault.unlink(names[0], of: file.inode, in: folder)
            files[index].names.removeFirst()
        case 3:
            // An atomic save.
            let new = try make(name, in: folder)
            try vault.write(random.bytes(5000), to: new, at: 0)
            if !chance(3) { try vault.synchronize(new, dataOnly: chance(2)) }
            try vault.rename(name, of: new, in: folder, to: names[0])
            if names.count == 1 { files.remove(at: index) } else { files[index].names.removeFirst() }
            files.append(([names[0]], new))
        default:
            let made = try vault.makeDirectory(name, in: folder)
            let inside = try make("inside", in: made)
            try vault.write(random.bytes(100), to: inside, at: 0)
            if chance(2) { try vault.synchronize(inside, dataOnly: true) }
            if chance(2) { try vault.synchronize(made) }
            if chance(2) { try vault.synchronize(folder) }
        }
    }
}
