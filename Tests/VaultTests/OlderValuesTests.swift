import Format
import Posix
import TestStores
import TestSupport
import Testing

@testable import Vault

/// Old targets of links, and old attributes, that are put back.
@Suite struct OlderValuesTests {
    let machine: TestMachine

    init() throws { machine = try TestMachine() }

    private static let long = String(repeating: "x", count: 3500)

    /// Targets that lie in the link, and in a file of their own.
    @Test(arguments: ["old", long]) func aLink(target: String) throws {
        try machine.session { session in
            for name in ["replaced", "removed", "kept"] as [Name] { try session.link(name, to: target) }
        }
        let before = try machine.copy()
        try machine.session { session in
            try session.link("replaced", to: "new")
            _ = try session.vault.unlink("removed", in: session.root) { _ in true }
        }
        try machine.session { session in
            let (new, kept) = try (session.target(of: "replaced"), session.target(of: "kept"))
            #expect(new == "new" && kept == target)
            #expect(session.verdicts.isEmpty)
        }
        for name in ["replaced", "removed", "kept"] { try machine.putBackTree(name, from: before) }
        if target == Self.long { try machine.putBackFolder("lk.targets", from: before) }
        try machine.session(.refuse) { session in
            for name in ["replaced", "removed"] as [Name] {
                #expect(throws: VaultError.stale("a link that was removed or replaced is back")) {
                    try session.target(of: name)
                }
            }
            let kept = try session.target(of: "kept")
            #expect(kept == target)
            #expect(session.verdicts == ["replaced": .back, "removed": .back])
            try session.vault.accept("replaced", in: session.root)
            let accepted = try session.target(of: "replaced")
            #expect(accepted == target)
        }
        try machine.session { session in
            for name in ["replaced", "removed"] as [Name] {
                let found = try session.target(of: name)
                #expect(found == target)
            }
            #expect(session.verdicts == ["removed": .back])
        }
    }

    /// A link that is renamed or has several names is the same one.
    @Test func linksThatMove() throws {
        try machine.session { session in
            try session.link("link", to: "target")
            func rename(_ old: Name, _ new: Name) throws {
                try session.vault.rename(
                    session.vault.renameEnd(old, in: session.root), .other,
                    to: session.vault.renameEnd(new, in: session.root), replaced: nil, RenameKind())
            }
            try rename("link", "other")
            try rename("other", "link")
            try session.vault.link("link", in: session.root, file: nil, to: "second", in: session.root)
            _ = try session.vault.unlink("link", in: session.root) { _ in true }
            let second = try session.target(of: "second")
            #expect(second == "target")
            try rename("second", "link")
            let target = try session.target(of: "link")
            #expect(target == "target" && session.watch.count == 0)
        }
    }

    /// A link stays if it could not be removed, also where the store then does not say whether it is there.
    @Test func aLinkThatCannotBeRemoved() throws {
        try machine.session { session in try session.link("link", to: "target") }
        try machine.session(closing: false, wrapping: { FaultInjectingStore($0) }) { session in
            let faults = try #require(session.vault.store as? FaultInjectingStore).faults
            faults.fail(.kinds([.unlink]), nth: 1, with: .EIO, then: .all)
            #expect(throws: VaultError.system(.EIO)) {
                try session.vault.unlink("link", in: session.root) { _ in true }
            }
            faults.clear()
            let target = try session.target(of: "link")
            #expect(target == "target" && session.watch.count == 0)
            session.vault.abandon()
        }
    }

    /// What is no value of this vault's, and says that it has the nonce of one, takes nothing away from that one.
    @Test func aPlantedNonce() throws {
        try machine.session { session in
            try session.link("link", to: "target")
            try session.link("planted", to: "another")
            try session.write(1, to: "file")
            for name in ["user.note", "user.other"] { try session.set(name, to: "1", of: "file") }
        }
        try machine.plantNonces(from: "link", in: "planted", attributesOf: "file")
        try machine.session(.refuse) { session in
            _ = try session.vault.unlink("planted", in: session.root) { _ in true }
            for name in ["user.note", "user.other"] where (try? session.attribute(name, of: "file")) == nil {
                try session.set(name, to: nil, of: "file")
            }
            let target = try session.target(of: "link")
            let left = ["user.note", "user.other"].compactMap { try? session.attribute($0, of: "file") }
            #expect(target == "target" && left == ["1"] && session.watch.count == 0)
        }
    }

    /// One with a short name, and one with a long one; set again, and removed.
    @Test(arguments: ["user.note", "user." + String(repeating: "n", count: 200)])
    func anAttribute(name: String) throws {
        func value(_ letter: Character) -> String { String(repeating: letter, count: 10) }
        try machine.session { session in
            try session.write(1, to: "file")
            for attribute in [name, "user.kept"] { try session.set(attribute, to: value("a"), of: "file") }
        }
        let before = try machine.copy()
        for step in ["b", nil] as [Character?] {
            try machine.session { session in
                try session.set(name, to: step.map(value), of: "file")
                let found = try? session.attribute(name, of: "file")
                #expect(found == step.map(value))
                #expect(session.watch.count == 0)
            }
            try machine.putBackAttributes("file", from: before)
            try machine.session(.refuse) { session in
                #expect { try session.attribute(name, of: "file") } throws: {
                    if case VaultError.stale? = $0 as? VaultError { true } else { false }
                }
                let kept = try session.attribute("user.kept", of: "file")
                #expect(kept == value("a"))
                #expect(session.watch.count == 1)
                let stale = try session.vault.staleness(of: "file", in: session.root)
                #expect(stale?.kind == .attribute(Array(name.utf8)))
                try session.vault.accept("file", in: session.root)
                let accepted = try session.attribute(name, of: "file")
                #expect(accepted == value("a"))
                let none = try session.vault.staleness(of: "file", in: session.root)
                #expect(none == nil)
            }
        }
        // What was accepted can be replaced, and is older then.
        try machine.session { session in try session.set(name, to: value("c"), of: "file") }
        try machine.putBackAttributes("file", from: before)
        try machine.session { session in
            let found = try session.attribute(name, of: "file")
            #expect(found == value("a") && session.watch.count == 1)
        }
    }

    /// Attributes that the store does not take lie in a file of their own, which is older or not as a whole.
    @Test func theFileOfAttributes() throws {
        func value(_ letter: Character) -> String { String(repeating: letter, count: 9000) }
        try machine.session { session in
            try session.write(1, to: "file")
            for name in ["user.a", "user.b"] { try session.set(name, to: value("1"), of: "file") }
        }
        let before = try machine.copy()
        try machine.session { session in
            try session.set("user.a", to: value("2"), of: "file")
            #expect(session.watch.count == 0)
        }
        try machine.putBackFolder("lk.attributes", from: before)
        try machine.session(.refuse) { session in
            for change in [
                { _ = try session.attribute("user.a", of: "file") },
                { try session.set("user.b", to: value("3"), of: "file") },
                { try session.set("user.b", to: nil, of: "file") },
            ] {
                #expect(throws: VaultError.stale("older attributes that were replaced are back")) { try change() }
            }
            let stale = try session.vault.staleness(of: "file", in: session.root)
            #expect(stale?.kind == .attribute(nil))
            try session.vault.accept("file", in: session.root)
            let accepted = try session.attribute("user.a", of: "file")
            #expect(accepted == value("1"))
            try session.set("user.b", to: nil, of: "file")
        }
        try machine.session(.refuse) { session in
            let found = try session.attribute("user.a", of: "file")
            #expect(found == value("1"))
        }
    }

    /// Of a folder, and of the root.
    @Test func attributesOfFolders() throws {
        let note = Array("user.note".utf8)
        func set(_ value: UInt8, _ session: TestMachine.Session) throws {
            for folder in [session.root, try session.folder("folder")] {
                try session.vault.setAttribute(note, to: [value], flags: 0, of: .directory(folder))
            }
        }
        try machine.session { try set(1, $0) }
        let before = try machine.copy()
        try machine.session { try set(2, $0) }
        try machine.putBackAll(from: before)
        try machine.session(.refuse) { session in
            let folders = [session.root, try session.folder("folder")]
            for folder in folders {
                #expect(throws: VaultError.self) { try session.vault.attribute(note, of: .directory(folder)) }
                try session.vault.accept(folder)
                let value = try session.vault.attribute(note, of: .directory(folder))
                #expect(value == [1])
            }
        }
    }
}
