import Format
import Foundation
import Posix
import TestSupport
import Testing

@testable import Vault

/// Two machines that use a vault by turns, with a program that copies it to and fro between: nothing is ever older.
/// LATCHKEY_SYNC_ROUNDS is the number of rounds.
@Suite struct SyncRoundTests {
    /// What brings a vault from one machine to the other.
    enum Way: String, CaseIterable {
        case rsync, attributes, checksums, withoutJournal, tar, afresh

        func command(from: String, to: String) -> String {
            switch self {
            case .rsync: "rsync -aH --delete '\(from)/' '\(to)/'"
            case .attributes: "rsync -aHX --delete '\(from)/' '\(to)/'"
            case .checksums: "rsync -aHX --checksum --delete '\(from)/' '\(to)/'"
            case .withoutJournal: "rsync -aHX --delete --exclude /lk.journal '\(from)/' '\(to)/'"
            case .tar: "find '\(to)' -mindepth 1 -delete; tar -C '\(from)' -c . | tar -C '\(to)' -x"
            case .afresh: "rm -rf '\(to)'; cp -a '\(from)' '\(to)'"
            }
        }
    }

    @Test func nothingIsOlder() throws {
        let rounds = ProcessInfo.processInfo.environment["LATCHKEY_SYNC_ROUNDS"].flatMap { Int($0) } ?? 60
        var random = SeededRandom(30)
        let first = try TestMachine()
        try first.session { session in for name in ["a", "b"] as [Name] { try session.write(0, to: name) } }
        let machines = [first, try TestMachine(of: first, from: try first.copy())]
        var turn = 0
        // What a failure prints.
        var history: [String] = []
        var past: String { history.suffix(80).joined(separator: "\n") }
        for round in 1...rounds {
            let machine = machines[turn]
            try machine.session(closing: round % 10 != 0) { session in
                try session.expectFresh(past)
                for _ in 0..<Int.random(in: 1...6, using: &random) {
                    history.append("\(round) on \(turn): \(try act(session, UInt8(round % 256), &random))")
                }
                try session.expectFresh(past)
                if round % 10 == 0 {
                    // The daemon is killed, and this machine goes on.
                    try session.vault.synchronize()
                    try session.watch.marks.save()
                    session.vault.abandon()
                }
            }
            if round % 10 == 0 {
                history.append("\(round): killed")
                try machine.session { try $0.expectFresh(past) }
            }
            guard Int.random(in: 0..<3, using: &random) > 0 else { continue }
            let way = Way.allCases.randomElement(using: &random)!
            history.append("\(round): \(way) from \(turn)")
            let other = machines[1 - turn]
            try TestSupport.run("sh", ["-ec", way.command(from: machine.vaultPath, to: other.vaultPath)])
            turn = 1 - turn
        }
    }

    private func act(_ session: TestMachine.Session, _ byte: UInt8, _ random: inout SeededRandom) throws -> String {
        let names = try session.files.sorted { "\($0)" < "\($1)" }
        let name = names.randomElement(using: &random)!
        let fresh = Name(bytes: Array("n\(Int.random(in: 0..<12, using: &random))".utf8))!
        let choice = Int.random(in: 0..<12, using: &random)
        switch choice {
        case 8: try session.link("link", to: "target \(byte)")
        case 9:
            try session.set("user.note", to: "\(byte)", of: name)
            // If nothing but the attribute changed, some of the ways would bring the old one back.
            try session.write(byte, to: name)
        case 10:
            let protectionClass: ProtectionClass = byte % 2 == 0 ? .none : .completeUnlessOpen
            try session.setClass(protectionClass, of: try session.aFolder)
        case 11:
            let folder = try session.aFolder
            try session.renameFolder(folder, to: folder == "folder" ? "other folder" : "folder")
        case 0, 1: try session.write(byte, to: name)
        case 2: try session.write(byte, to: fresh)
        case 3 where names.count > 2: try session.remove(name)
        case 4: if fresh != name { try session.rename(name, to: fresh) }
        case 5:
            // An atomic save.
            try session.write(byte, to: "new")
            try session.rename("new", to: name)
        case 6 where !names.contains(fresh):
            let file = try session.open(name)
            try session.vault.link(name, in: session.root, file: file, to: fresh, in: session.root)
        default:
            let file = try session.open(name)
            try file.write([UInt8](repeating: byte, count: 6000), at: UInt64.random(in: 0..<9000, using: &random))
            try file.synchronize(dataOnly: Bool.random(using: &random))
        }
        return "act \(choice) on \(name), \(fresh)"
    }
}

extension TestMachine.Session {
    /// The names of the files.
    fileprivate var files: [Name] {
        get throws { try vault.entries(of: root).filter { $0.kind == .regular }.map(\.name) }
    }

    /// The only folder, made if it is not there.
    fileprivate var aFolder: Name {
        get throws {
            let found = try vault.entries(of: root).first { $0.kind == .directory }
            if let found { return found.name }
            _ = try folder("folder")
            return "folder"
        }
    }

    /// Reads everything.
    fileprivate func expectFresh(_ history: String) throws {
        for entry in try vault.entries(of: root) {
            switch entry.kind {
            case .directory: _ = try folder(entry.name)
            case .symbolicLink: _ = try target(of: entry.name)
            default:
                _ = try vault.lookupInBrief(entry.name, in: root)
                _ = try open(entry.name)
                let owner = AttributeOwner.file(try vault.openFile(entry.name, in: root))
                for name in try vault.attributeNames(of: owner) { _ = try vault.attribute(name, of: owner) }
            }
        }
        let found = watch.takeNews().objects.map { "\($0.place), \($0.kind): \($0.verdict), \($0.remembered)" }
        let text = "\(history)\n\(found)"
        #expect(found.isEmpty, "\(text)")
    }
}
