import Format
import Foundation
import Posix
import TestSupport
import Testing

@testable import Vault

/// Each version of a file has another size or second than all that had its name before: programs that synchronise
/// folders look at nothing else.
@Suite struct SeenTimesTests {
    let machine: TestMachine

    init() throws { machine = try TestMachine() }

    /// One of that name after it was removed, renamed, or replaced by one that is new. The times of the first one are
    /// ahead of the clock.
    @Test(arguments: ["removed", "renamed", "replaced", "linked", "exchanged"]) func another(how: String) throws {
        var before: [Int64] = []
        try machine.session { session in
            for byte in 1...5 as ClosedRange<UInt8> {
                try session.write(byte, to: "note")
                before.append(try session.backingTime(of: "note"))
            }
            if how == "replaced" {
                // The time of what is replaced is now, while its stamp is ahead.
                try session.open("note").write([2], at: 0)
            }
            switch how {
            case "removed": try session.remove("note")
            case "renamed": try session.rename("note", to: "other")
            default: try session.write(1, to: "new")
            }
            switch how {
            case "linked":
                try session.remove("note")
                let file = try session.open("new")
                try session.vault.link("new", in: session.root, file: file, to: "note", in: session.root)
            case "exchanged":
                try session.vault.exchange(
                    Exchanged("note", in: session.root, .file(try session.open("note"))),
                    Exchanged("new", in: session.root, .file(try session.open("new"))))
            case "replaced": try session.rename("new", to: "note")
            default: try session.write(1, to: "note")
            }
        }
        try machine.session { session in
            let after = try session.backingTime(of: "note")
            #expect(after > before.max()!, "\(before), \(after)")
        }
    }

    /// An fsync of a closed file changes its header in place.
    @Test func aLateSync() throws {
        try machine.session { session in
            let file = try session.open("note", making: true)
            try file.write([UInt8](repeating: 1, count: 9000), at: 0)
            try file.persistLength()
            let before = try session.backingTime(of: "note")
            try file.synchronize(dataOnly: false)
            let after = try session.backingTime(of: "note")
            #expect(before < after)
        }
    }

    /// The header of before, which a copy may have, is not taken for an older one if nothing else was seen.
    @Test func aCopyFromTheMiddleOfASync() throws {
        try machine.session { session in
            let file = try session.open("note", making: true)
            try file.write([UInt8](repeating: 1, count: 9000), at: 0)
            try file.synchronize(dataOnly: false)
        }
        // The later header is seen.
        try machine.session { session in _ = try session.vault.openFile("note", in: session.root) }
        for _ in 0..<2 {
            // What the fsync wrote first.
            try machine.forge("note") { $0.length = 0 }
            try machine.session { session in
                _ = try session.vault.openFile("note", in: session.root)
                #expect(session.watch.count == 0)
            }
        }
    }
}

extension TestMachine.Session {
    /// The second that a program sees that compares the backing files.
    fileprivate func backingTime(of name: Name) throws -> Int64 {
        let stored = try vault.storedName(name, in: root).name
        return try vault.store.status(of: stored, in: root.descriptor).modified.seconds
    }
}
