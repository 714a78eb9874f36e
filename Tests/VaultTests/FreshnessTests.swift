import Format
import Freshness
import Foundation
import Posix
import TestStores
import TestSupport
import Testing

@testable import Vault

/// Old versions of files that are put back, and what must not be taken for that.
@Suite struct FreshnessTests {
    let machine: TestMachine

    init() throws { machine = try TestMachine() }

    @Test(arguments: [1, 10, 200]) func anOlderVersion(changes: Int) throws {
        try machine.session { session in try session.write(1, to: "note") }
        let before = try machine.copy()
        for change in 2..<2 + changes {
            try machine.session { session in try session.write(UInt8(change), to: "note") }
        }
        try machine.putBack("note", from: before)
        try machine.session { session in
            try session.expect(1, in: "note")
            #expect(session.verdicts == ["note": .older])
        }
        // It is told anew in each session, until the owner accepts it.
        try machine.session { session in
            _ = try session.vault.lookup("note", in: session.root)
            #expect(session.verdicts == ["note": .older])
        }
        try machine.session { session in
            try session.vault.accept("note", in: session.root)
            #expect(session.watch.count == 0)
        }
        try machine.session { session in
            try session.expect(1, in: "note")
            #expect(session.verdicts.isEmpty)
        }
    }

    /// A change of the older version is newer than all that was seen, on other machines too.
    @Test func changesSurpassWhatWasSeen() throws {
        try machine.session { session in try session.write(1, to: "note") }
        let before = try machine.copy()
        for _ in 0..<20 { try machine.session { session in try session.write(2, to: "note") } }
        let seen = try machine.generation(of: "note")
        try machine.putBack("note", from: before)
        try machine.session { session in try session.write(3, to: "note") }
        let written = try machine.generation(of: "note")
        #expect(written > seen)
        try machine.session { session in
            try session.expect(3, in: "note")
            #expect(session.verdicts.isEmpty)
        }
    }

    @Test func aRemovedFileIsBack() throws {
        try machine.session { session in
            try session.write(1, to: "note")
            try session.write(1, to: "moved")
            try session.write(1, to: "replaced")
        }
        let before = try machine.copy()
        try machine.session { session in
            try session.remove("note")
            try session.rename("moved", to: "elsewhere")
            try session.write(2, to: "new")
            try session.rename("new", to: "replaced")
        }
        for name in ["note", "moved", "replaced"] { try machine.putBack(name, from: before) }
        try machine.session { session in
            for name in ["note", "moved", "replaced"] as [Name] { try session.expect(1, in: name) }
            #expect(session.verdicts == ["note": .back, "moved": .back, "replaced": .back])
            try session.vault.accept("note", in: session.root)
            try session.write(3, to: "moved")
        }
        try machine.session { session in
            for name in ["note", "moved", "replaced"] as [Name] { _ = try session.read(name) }
            #expect(session.verdicts == ["replaced": .back])
        }
    }

    /// A header within the same generation that confirms less than the one that was seen.
    @Test func aLowerConfirmedLength() throws {
        try machine.session { session in
            let file = try session.open("note", making: true)
            try file.write([UInt8](repeating: 1, count: 5 * 4096), at: 0)
            try file.synchronize(dataOnly: false)
        }
        try machine.session { session in
            try session.watch.acceptAll()
            _ = try session.vault.openFile("note", in: session.root)
        }
        let seen = try machine.generation(of: "note")
        try machine.forge("note") { $0.length = 0 }
        let forged = try machine.header(of: "note", in: machine.vaultPath)
        #expect(forged.generation == seen && forged.length == 0)
        try machine.session { session in
            _ = try session.vault.openFile("note", in: session.root)
            #expect(session.verdicts == ["note": .older])
        }
    }

    @Test func aConflict() throws {
        try machine.session { session in try session.write(1, to: "note") }
        let before = try machine.copy()
        try machine.session { session in try session.write(2, to: "note") }
        let ours = try machine.copy()
        let seen = try machine.generation(of: "note")
        let other = try TestMachine(of: machine, from: before)
        try other.session { session in try session.write(3, to: "note") }
        while try other.generation(of: "note") < seen {
            try other.session { session in try session.write(4, to: "note") }
        }
        let theirs = try other.generation(of: "note")
        #expect(theirs == seen)
        try machine.putBack("note", from: try other.copy())
        try machine.session { session in
            _ = try session.read("note")
            #expect(session.verdicts == ["note": .conflict])
        }
        try other.putBack("note", from: ours)
        try other.session { session in
            try session.expect(2, in: "note")
            #expect(session.verdicts == ["note": .conflict])
        }
    }

    /// Each file that is older is refused; it can be removed, and accepted.
    @Test func strictness() throws {
        for name in ["note", "other"] as [Name] { try machine.session { session in try session.write(1, to: name) } }
        let before = try machine.copy()
        try machine.session { session in for name in ["note", "other"] as [Name] { try session.write(2, to: name) } }
        for name in ["note", "other"] { try machine.putBack(name, from: before) }
        try machine.session(.refuse) { session in
            let refusal = VaultError.stale("older than this machine has seen")
            #expect(throws: refusal) { try session.read("note") }
            #expect(throws: refusal) { try session.rename("note", to: "third") }
            #expect(throws: refusal) {
                try session.vault.openFile("note", in: session.root).setClass(.complete)
            }
            #expect(throws: refusal) {
                try session.vault.openFile("note", in: session.root).setTimes(accessed: .keep, modified: .now)
            }
            #expect(throws: refusal) { try session.vault.openFile("note", in: session.root).truncate(to: 0) }
            _ = try session.vault.lookup("note", in: session.root)
            try session.vault.accept("note", in: session.root)
            try session.expect(1, in: "note")
            try session.remove("other")
        }
        try machine.session(.refuse) { session in try session.expect(1, in: "note") }
    }

    /// Links, renames to and fro, exchanges and files without a name are no going back.
    @Test func namesThatComeAndGo() throws {
        try machine.session { session in
            for name in ["a", "b"] as [Name] { try session.write(1, to: name) }
        }
        for _ in 0..<3 {
            try machine.session { session in
                try session.rename("a", to: "c")
                try session.rename("c", to: "a")
                try session.vault.flushAll()
                try session.rename("a", to: "c")
                try session.vault.flushAll()
                try session.rename("c", to: "a")
                let file = try session.open("a")
                try session.vault.link("a", in: session.root, file: file, to: "link", in: session.root)
                try session.vault.flushAll()
                try session.remove("link")
                try session.vault.flushAll()
                try session.vault.link("a", in: session.root, file: file, to: "link", in: session.root)
                try session.remove("a")
                try session.vault.flushAll()
                try session.vault.link("link", in: session.root, file: file, to: "a", in: session.root)
                try session.remove("link")
                try session.vault.exchange(
                    Exchanged("a", in: session.root, .file(file)),
                    Exchanged("b", in: session.root, .file(try session.open("b"))))
                let nameless = try session.vault.createNamelessFile(in: session.root, session.me, .none)
                try session.vault.giveName("new", in: session.root, to: nameless)
                try session.vault.flushAll()
                try session.remove("new")
            }
            try machine.session { session in
                for name in ["a", "b"] as [Name] { _ = try session.read(name) }
                #expect(session.verdicts.isEmpty)
            }
        }
        // Each of those names was noted: what had them comes back.
        try machine.session { session in try session.write(1, to: "link") }
        let before = try machine.copy()
        try machine.session { session in try session.remove("link") }
        try machine.putBack("link", from: before)
        try machine.session { session in
            _ = try session.read("link")
            #expect(session.verdicts == ["link": .back])
        }
    }

    /// More links than a header has bindings.
    @Test func manyLinks() throws {
        let names = (0..<20).map { Name(bytes: Array("link \($0)".utf8))! }
        try machine.makeFile("a", linkedTo: names)
        for _ in 0..<2 {
            try machine.session { session in
                for name in names[..<10] { try session.remove(name) }
                try session.vault.flushAll()
                let file = try session.open("a")
                for name in names[..<10] {
                    try session.vault.link("a", in: session.root, file: file, to: name, in: session.root)
                }
                try session.rename(names[12], to: "third")
                try session.vault.flushAll()
                try session.rename("third", to: names[12])
            }
            try machine.session { session in
                for name in names + ["a"] { _ = try session.read(name) }
                #expect(session.verdicts.isEmpty)
            }
        }
    }

    /// A program that copies the vault makes two files of two links: they have one ID, and go their own ways.
    @Test func linksThatWereCopiedApart() throws {
        for step in 0..<4 {
            let machine = try TestMachine()
            try machine.makeFile("a", linkedTo: ["b", "c"])
            try machine.breakLinks(of: "a", keeping: step == 0)
            try machine.session { session in
                switch step {
                case 0, 1:
                    for _ in 0..<3 { try session.write(2, to: "b") }
                case 2:
                    for name in ["a", "b", "c"] as [Name] { _ = try session.read(name) }
                    try session.rename("b", to: "a")
                    try session.rename("c", to: "b")
                default:
                    for name in ["a", "b", "c"] as [Name] { _ = try session.read(name) }
                    try session.remove("b")
                    try session.rename("a", to: "b")
                    try session.rename("c", to: "a")
                }
                #expect(session.verdicts.isEmpty)
            }
            try machine.session { session in
                for entry in try session.vault.entries(of: session.root) { _ = try session.read(entry.name) }
                #expect(session.verdicts.isEmpty, "step \(step)")
            }
        }
    }

    /// All names of a file are as new as its header, also those that no program has looked at since.
    @Test func linksThatWereNotLookedAt() throws {
        try machine.makeFile("a", linkedTo: ["b"])
        let before = try machine.copy()
        try machine.session { session in try session.write(2, to: "a") }
        try machine.putBack("b", from: before, removing: true)
        try machine.session { session in
            try session.expect(1, in: "b")
            #expect(session.verdicts == ["b": .older])
        }
    }

    /// Each name of a file counts, also of one that is in memory by then.
    @Test func eachNameIsCompared() throws {
        try machine.makeFile("a", linkedTo: ["b"])
        let before = try machine.copy()
        try machine.session { session in try session.write(2, to: "a") }
        try machine.putBackAll(from: before)
        try machine.session { session in
            let file = try session.open("a")
            _ = try session.open("b")
            #expect(session.verdicts == ["a": .older, "b": .older])
            withExtendedLifetime(file) {}
        }
    }

    /// A removed link that is back, of a file that is in memory by then: its header has not that name any more.
    @Test func aLinkOfAFileInMemory() throws {
        try machine.makeFile("a", linkedTo: ["b"])
        try machine.session { session in try session.remove("b") }
        try machine.linkBack("b", to: "a")
        try machine.session(.refuse) { session in
            let file = try session.open("a")
            #expect(throws: VaultError.self) { try session.vault.openFile("b", in: session.root) }
            withExtendedLifetime(file) {}
        }
    }

    /// The removal of one link makes the other one no newer; its class, and that of what replaces it, is not lowered.
    @Test func whatARefusedFileLeaves() throws {
        try machine.session { session in
            try session.write(1, to: "a")
            try session.vault.openFile("a", in: session.root).setClass(.none)
            let file = try session.open("a")
            try session.vault.link("a", in: session.root, file: file, to: "b", in: session.root)
        }
        let before = try machine.copy()
        try machine.session { session in
            let file = try session.open("a")
            try file.setClass(.complete)
            try file.write([2], at: 0)
        }
        try machine.putBackAll(from: before)
        try machine.session(.refuse) { session in
            #expect(throws: VaultError.self) { try session.read("a") }
            try session.remove("b")
        }
        try machine.session(.refuse) { session in
            #expect(throws: VaultError.stale("older than this machine has seen")) { try session.read("a") }
            try session.write(3, to: "new")
            try session.rename("new", to: "a")
            guard case .file(let header) = try session.vault.lookup("a", in: session.root).details else { return }
            #expect(header.protectionClass == .complete)
        }
    }

    /// What came and went within one session is noticed, too.
    @Test func briefNames() throws {
        var before = ""
        try machine.session { session in
            for name in ["removed", "renamed", "replaced"] as [Name] { try session.write(1, to: name) }
            before = try machine.copy()
            try session.remove("removed")
            try session.rename("renamed", to: "elsewhere")
            try session.write(2, to: "new")
            try session.rename("new", to: "replaced")
        }
        for name in ["removed", "renamed", "replaced"] { try machine.putBack(name, from: before, removing: false) }
        try machine.session { session in
            for name in ["removed", "renamed", "replaced"] as [Name] { try session.expect(1, in: name) }
            #expect(session.verdicts == ["removed": .back, "renamed": .back, "replaced": .back])
        }
    }

    /// A file that another entry has replaced is noticed, too.
    @Test func aLinkInItsPlace() throws {
        try machine.session { session in try session.write(1, to: "note") }
        let before = try machine.copy()
        try machine.session { session in
            try session.vault.makeSymbolicLink(
                to: Array("elsewhere".utf8), "link", in: session.root, user: getuid(), group: getgid())
            guard case .file(let header) = try session.vault.lookup("note", in: session.root).details else { return }
            try session.vault.rename(
                session.vault.renameEnd("link", in: session.root), .other,
                to: session.vault.renameEnd("note", in: session.root), replaced: ReplacedFile(header), RenameKind())
        }
        try machine.putBack("note", from: before, removing: true)
        try machine.session { session in
            try session.expect(1, in: "note")
            #expect(session.verdicts == ["note": .back])
        }
    }

    /// What could not be flushed is not on the disk, whatever a flush of the whole store says later.
    @Test func afterAFailedFlush() throws {
        var before = ""
        try machine.session(closing: false, wrapping: { FaultInjectingStore($0) }) { session in
            let faults = try #require(session.vault.store as? FaultInjectingStore).faults
            try session.write(1, to: "note")
            before = try machine.copy()
            let file = try session.open("note")
            try file.write([2], at: 1)
            try file.persistLength()
            faults.fail(.synchronize, with: .EIO)
            #expect(throws: VaultError.system(.EIO)) { try file.synchronize(dataOnly: false) }
            try session.vault.flushAll()
            try session.watch.marks.save()
            session.vault.abandon()
        }
        // As a power loss may have left it.
        try machine.putBackAll(from: before)
        try machine.session { session in
            try session.expect(1, in: "note")
            #expect(session.verdicts.isEmpty)
        }
    }

    /// A killed daemon, whose journal is replayed; the power is on.
    @Test func kills() throws {
        for round in 0..<10 as Range<UInt8> {
            try machine.session(closing: false) { session in
                try session.write(round, to: "note")
                let file = try session.open("note")
                try file.write([UInt8](repeating: round, count: 9000), at: 0)
                try file.synchronize(dataOnly: true)
                try session.write(round, to: "other")
                try session.rename("other", to: "saved")
                try session.vault.flushAll()
                try session.watch.marks.save()
                try file.write([UInt8](repeating: round, count: 9000), at: 4096)
                try file.synchronize(dataOnly: round % 2 == 0)
                session.vault.abandon()
            }
            try machine.session { session in
                for name in ["note", "saved"] as [Name] { try session.expect(round, in: name) }
                #expect(session.verdicts.isEmpty)
            }
        }
    }

    /// A journal that is put back or removed, after sessions that ended cleanly or were cut off.
    @Test(arguments: [false, true], [false, true]) func theJournal(isRemoved: Bool, isCutOff: Bool) throws {
        try machine.session { session in
            try session.write(1, to: "note")
            #expect(session.watch.journal == .seen)
        }
        let before = try machine.copy()
        for _ in 0..<3 { try machine.session { session in #expect(session.watch.journal == .seen) } }
        try machine.session(closing: !isCutOff) { session in
            #expect(session.watch.journal == .seen)
            try session.vault.flushAll()
            try session.watch.marks.save()
            let file = try session.open("note")
            try file.write([2], at: 0)
            try file.synchronize(dataOnly: true)
            if isCutOff { session.vault.abandon() }
        }
        try machine.replaceJournal(with: isRemoved ? nil : before)
        try machine.session { session in #expect(session.watch.journal == (isCutOff ? .missed : .older)) }
        try machine.session { session in #expect(session.watch.journal == .seen) }
    }

    /// In a vault that is only read nothing is remembered, but what is older is told.
    @Test func aVaultThatIsOnlyRead() throws {
        try machine.session { session in try session.write(1, to: "note") }
        let before = try machine.copy()
        try machine.session { session in try session.write(2, to: "note") }
        try machine.putBackAll(from: before)
        try machine.session(readOnly: true) { session in
            try session.expect(1, in: "note")
            #expect(session.verdicts == ["note": .older])
            #expect(throws: VaultError.system(.EROFS)) { try session.vault.accept("note", in: session.root) }
        }
    }

    @Test func everythingIsAccepted() throws {
        try machine.session { session in for name in ["a", "b"] as [Name] { try session.write(1, to: name) } }
        let before = try machine.copy()
        try machine.session { session in for name in ["a", "b"] as [Name] { try session.write(2, to: name) } }
        try machine.putBackAll(from: before)
        try machine.session { session in
            for name in ["a", "b"] as [Name] { _ = try session.read(name) }
            #expect(session.watch.count == 2)
            try session.watch.acceptAll()
            #expect(session.watch.count == 0)
        }
        try machine.session { session in
            for name in ["a", "b"] as [Name] { _ = try session.read(name) }
            #expect(session.verdicts.isEmpty)
        }
    }

    /// A thief of the keys makes a header of the highest generation: the honest file does not stay older for ever.
    @Test func poisoned() throws {
        try machine.session { session in try session.write(1, to: "note") }
        let before = try machine.copy()
        try machine.forge("note") { $0.generation = FileHeader.largestGeneration - 1 }
        try machine.session { session in _ = try session.read("note") }
        try machine.putBackAll(from: before)
        try machine.session { session in
            try session.expect(1, in: "note")
            #expect(session.verdicts.isEmpty)
        }
        try machine.forge("note") { $0.generation = Marks.highestGeneration }
        try machine.session { session in _ = try session.read("note") }
        try machine.putBackAll(from: before)
        try machine.session { session in
            try session.expect(1, in: "note")
            #expect(session.verdicts == ["note": .older])
            try session.vault.accept("note", in: session.root)
            try session.write(2, to: "note")
        }
        try machine.session { session in
            try session.expect(2, in: "note")
            #expect(session.verdicts.isEmpty)
        }
    }
}
