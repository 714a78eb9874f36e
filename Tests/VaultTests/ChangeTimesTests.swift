import Format
import Glibc
import Posix
import Testing
import Writeback

@testable import Vault

/// The change time that stat(2) shows: it moves with what the user changes, not with what the vault writes later.
@Suite struct ChangeTimesTests {
    private let test: TestVault

    init() throws {
        test = try TestVault()
    }

    private func shown(_ name: Name = "file") throws -> Timespec {
        try test.vault.lookup(name, in: test.root).status.changed
    }

    private func backing(_ name: Name = "file") throws -> Timespec {
        try test.store.status(of: test.vault.storedName(name, in: test.root).name, in: test.store.root).changed
    }

    /// The file system's clock may stand still between two changes.
    private func untilTheClockMoves(from time: Timespec) throws {
        let end = ContinuousClock.now + .seconds(20)
        while Timespec.tick <= time { try #require(ContinuousClock.now < end, "the clock stands still") }
    }

    /// However it is asked for: by handle, by name, in a read-only vault, after the daemon's death and after a clean
    /// end.
    private func expectShown(_ time: Timespec, by file: File, _ comment: Comment) throws {
        #expect(try file.status().changed == time, comment)
        #expect(try shown() == time, comment)
        let readOnly = test.next(isReadOnly: true)
        #expect(try readOnly.lookup("file", in: readOnly.openRoot()).status.changed == time, comment)
        let (vault, root) = try test.afterDeath()
        #expect(try vault.lookup("file", in: root).status.changed == time, comment)
        #expect(try vault.openFile("file", in: root).status().changed == time, comment)
    }

    @Test(arguments: ["fresh", "over", "truncate", "hole", "sync", "close"])
    func checkpointingMovesNothing(how: String) throws {
        let file = try test.create("file")
        try file.write([UInt8](repeating: 1, count: 50_000), at: 0)
        if how != "fresh" { try file.synchronize(dataOnly: false) }
        switch how {
        case "over": try file.write([2, 3], at: 5000)
        case "truncate": try file.truncate(to: 5000)
        case "hole": try file.punch(8192..<40_960)
        default: break
        }
        let (time, own) = (try file.status().changed, try backing())
        try untilTheClockMoves(from: max(time, own))
        for _ in 0..<2 {
            switch how {
            case "sync": try file.synchronize(dataOnly: false)
            case "close": try file.persistLength()
            default: try test.vault.checkpoint()
            }
            #expect(try file.status().changed == time)
        }
        if how != "close" { #expect(try backing() > own, "nothing was done behind it") }
        try test.vault.checkpoint()
        try expectShown(time, by: file, "\(how)")
    }

    /// Right after the header was written, when the backing file's time alone does not tell one change from the other.
    @Test(arguments: [
        "write", "truncate", "mode", "owner", "attribute", "no attribute", "list", "class", "mark", "times", "accessed",
        "link", "unlink", "rename",
    ])
    func changesByTheUserMoveIt(how: String) throws {
        var name: Name = "file"
        let file = try test.create(name)
        let attribute = Array("user.one".utf8)
        try test.vault.setAttribute(attribute, to: [1], flags: 0, of: .file(file))
        try file.setClass(.none)
        try file.write([UInt8](repeating: 1, count: 50_000), at: 0)
        try test.vault.link(name, in: test.root, file: file, to: "other", in: test.root)
        try file.synchronize(dataOnly: false)
        try test.vault.checkpoint()
        let before = try file.status().changed
        try untilTheClockMoves(from: max(before, try backing()))
        switch how {
        case "write": try file.write([2], at: 100)
        case "truncate": try file.truncate(to: 100)
        case "mode": try file.setMode(0o600)
        case "owner": try file.setOwner(user: getuid(), group: getgid())
        case "attribute": try test.vault.setAttribute(attribute, to: [2], flags: 0, of: .file(file))
        case "no attribute": try test.vault.removeAttribute(attribute, of: .file(file))
        case "list":
            let list = AccessControlList(mode: 0o640)
            try test.vault.setAccessList(list.encoded, of: .file(file), dropsSetGroupID: false)
        case "class": try file.setClass(.complete)
        case "mark": try file.clearExplicitMark()
        case "times": try file.setTimes(accessed: .keep, modified: .at(Timespec(seconds: 7, nanoseconds: 7)))
        case "accessed": try file.setTimes(accessed: .at(Timespec(seconds: 7, nanoseconds: 7)), modified: .keep)
        case "link": try test.vault.link(name, in: test.root, file: file, to: "third", in: test.root)
        case "unlink": try test.vault.unlink("other", in: test.root)
        default:
            try test.rename(name, to: "renamed")
            name = "renamed"
        }
        let after = try file.status().changed
        #expect(after > before)
        #expect(try shown(name) == after)
        #expect(after <= Timespec.now)
        try untilTheClockMoves(from: max(after, try backing(name)))
        try test.vault.checkpoint()
        // A rename knows its time before the file system has set one.
        let checkpointed = try file.status().changed
        #expect(checkpointed > before && checkpointed <= after)
        let (vault, root) = try test.afterDeath()
        #expect(try vault.lookup(name, in: root).status.changed == checkpointed)
        #expect(try vault.openFile(name, in: root).status().changed == checkpointed)
    }

    /// A modification time in the future is not taken for a change time.
    @Test func aSetTimeIsNoChangeTime() throws {
        let file = try test.create("file")
        try file.write([UInt8](repeating: 1, count: 5000), at: 0)
        try file.synchronize(dataOnly: false)
        try file.write([2], at: 100)
        try file.setTimes(accessed: .keep, modified: .at(Timespec(seconds: 4_000_000_000, nanoseconds: 0)))
        let time = try file.status()
        #expect(time.modified.seconds == 4_000_000_000)
        #expect(time.changed <= Timespec.now)
    }

    /// A file whose changes are in the journal alone has its change time there too.
    @Test func aReplayMovesNothing() throws {
        let file = try test.create("file")
        try file.write([UInt8](repeating: 1, count: 50_000), at: 0)
        try file.synchronize(dataOnly: false)
        let own = try backing()
        try untilTheClockMoves(from: own)
        try file.write([2], at: 100)
        try file.synchronize(dataOnly: true)
        let time = try file.status().changed
        #expect(try time > own && backing() == own, "it lies in the journal")
        try untilTheClockMoves(from: time)
        try expectShown(time, by: file, "as it lies there, and replayed")
        #expect(try backing() > time)
    }

    /// A change of the backing file by another program, long after its header was written, shows in that file's time
    /// alone.
    @Test func anOldHeaderHidesNothing() throws {
        let file = try test.create("file")
        try file.write([1], at: 0)
        try test.vault.checkpoint()
        try test.vault.setAttribute(Array("user.one".utf8), to: [1], flags: 0, of: .file(file))
        try test.vault.checkpoint()
        #expect(test.vault.isCheckpointed)
        file.lock.withExclusive { file.state.header.written.seconds -= 10 }
        try file.setMode(0o600)
        #expect(test.vault.isCheckpointed, "nothing has to be written")
        #expect(try file.status().changed >= backing())
    }
}
