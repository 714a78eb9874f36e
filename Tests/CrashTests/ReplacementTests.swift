import CrashSimulator
import Posix
import TestSupport
import Testing

@testable import Vault

extension CrashTests {
    /// Files replace others while other files are synced: a flush of the journal says nothing of the folders.
    @Suite struct Replacements {
        private func name(_ text: String) -> Name { Name(bytes: text.utf8)! }

        /// The replaced file is in the journal and nowhere else.
        @Test(arguments: [true, false], SimulatedDisk.Order.allCases)
        func youngFiles(byFiles: Bool, on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            var random = SeededRandom(31)
            let other = try vault.makeFile("other")
            try vault.synchronizeAll()
            for turn in 0..<12 {
                let old = try vault.makeFile(name("f\(turn)"))
                if turn % 4 != 3 {
                    try vault.write(random.bytes(2000), to: old, at: 0)
                    try vault.synchronize(old, dataOnly: true)
                }
                try vault.synchronize()
                if byFiles {
                    let new = try vault.makeFile(name("n\(turn)"))
                    try vault.write(random.bytes(1500), to: new, at: 0)
                    if turn % 2 == 0 { try vault.synchronize(new, dataOnly: turn % 4 == 0) }
                    try vault.rename(name("n\(turn)"), of: new, to: name("f\(turn)"))
                } else {
                    let link = try vault.makeSymbolicLink(to: "target", name("n\(turn)"))
                    try vault.rename(name("n\(turn)"), ofLink: link, to: name("f\(turn)"))
                }
                try vault.write(random.bytes(100), to: other, at: 0)
                try vault.synchronize(other, dataOnly: true)
                if turn % 3 == 0 { try vault.vault.checkpoint() }
            }
            try expectPromiseHolds("young files replaced by \(byFiles ? "files" : "links")", vault, states: 180)
        }

        /// The replaced file has grown in the journal alone, and the journal is reused before the folder is flushed.
        @Test(arguments: SimulatedDisk.Order.allCases) func grownFiles(on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            var random = SeededRandom(32)
            let other = try vault.makeFile("other")
            try vault.write(random.bytes(200_000), to: other, at: 0)
            let old = try vault.makeFile("old")
            try vault.write(random.bytes(4096), to: old, at: 0)
            let new = try vault.makeFile("new")
            try vault.write(random.bytes(1500), to: new, at: 0)
            try vault.synchronizeAll()
            try vault.append(random.bytes(7000), to: old)
            try vault.synchronize(old, dataOnly: true)
            try vault.rename("new", of: new, to: "old")
            // More than both parts hold.
            for _ in 0..<16 {
                try vault.write(random.bytes(200_000), to: other, at: 0)
                try vault.synchronize(other, dataOnly: true)
            }
            try expectPromiseHolds("a grown file replaced, and the journal used anew", vault, states: 90)
        }

        /// The journal grows while a burst lasts, and shrinks when nothing in it is needed: also between the removal of
        /// a file that only the journal has and another file that gets its name.
        @Test(arguments: SimulatedDisk.Order.allCases) func aGrowingJournal(on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order, journalSize: JournalSize(part: 1280 << 10, mostParts: 4))
            var random = SeededRandom(36)
            let other = try vault.makeFile("other")
            try vault.write(random.bytes(400_000), to: other, at: 0)
            try vault.synchronizeAll()
            var sizes: Set<Int> = []
            func burst(_ count: Int) throws {
                for step in 0..<count {
                    try vault.write(random.bytes(400_000), to: other, at: 0)
                    if step % 2 == 0 { try vault.synchronize(other, dataOnly: true) }
                    sizes.insert(try vault.vault.openJournal().state.withLock { $0.parts.count })
                }
            }
            for turn in 0..<3 {
                let young = try vault.makeFile(name("y\(turn)"))
                try vault.write(random.bytes(3000), to: young, at: 0)
                try vault.synchronize(young, dataOnly: true)
                // More than two parts hold, and then more than four.
                try burst(turn == 1 ? 16 : 8)
                try vault.unlink(name("y\(turn)"), of: young.inode)
                if turn == 2 { try burst(2) }
                _ = try vault.makeFile(name("y\(turn)"))
                try vault.vault.checkpoint()
                try vault.vault.shrinkJournal()
                sizes.insert(try vault.vault.openJournal().state.withLock { $0.parts.count })
                try burst(1)
            }
            #expect(sizes == [2, 3, 4])
            try expectPromiseHolds("a journal that grows and shrinks", vault, states: 180)
        }

        /// A file that was moved and then lost its last name is still written to: a crash may bring back any of its
        /// names.
        @Test(arguments: SimulatedDisk.Order.allCases) func movedAndRemovedFiles(on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            var random = SeededRandom(35)
            let (one, two) = (try vault.makeDirectory("one"), try vault.makeDirectory("two"))
            for turn in 0..<6 {
                let file = try vault.makeFile(name("f\(turn)"), in: one)
                try vault.write(random.bytes(9000), to: file, at: 0)
                try vault.synchronizeAll()
                try vault.rename(name("f\(turn)"), of: file, in: one, to: name("g\(turn)"), in: two)
                try vault.unlink(name("g\(turn)"), of: file.inode, in: two)
                if turn % 2 == 0 { try vault.vault.checkpoint() }
                try vault.write(random.bytes(5000), to: file, at: 1000)
                if turn % 3 == 0 { try vault.synchronize(file, dataOnly: true) }
            }
            try expectPromiseHolds("files moved, removed and written to", vault, states: 180)
        }
    }

    /// Daemons are killed, and the power is lost in the next session: the files are as in the page cache, which no disk
    /// has.
    @Suite struct KilledSessions {
        @Test(arguments: SimulatedDisk.Order.allCases) func namesOfTheOneBefore(on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            var random = SeededRandom(34)
            for turn in 0..<6 {
                let names = ["a", "b", "c"].map { Name(bytes: "\($0)\(turn)".utf8)! }
                do {
                    let moved = try vault.makeFile(names[0])
                    try vault.write(random.bytes(3000), to: moved, at: 0)
                    let linked = try vault.makeFile(names[1])
                    try vault.write(random.bytes(3000), to: linked, at: 0)
                    try vault.synchronizeAll()
                    try vault.rename(names[0], of: moved, to: Name(bytes: "moved\(turn)".utf8)!)
                    try vault.link(names[1], of: linked, in: vault.root, to: names[2], in: vault.root)
                }
                vault.vault.abandon()
                try vault.reopen()
                let moved = try vault.openFile(Name(bytes: "moved\(turn)".utf8)!)
                try vault.write(random.bytes(500), to: moved, at: 100)
                try vault.synchronize(moved, dataOnly: turn % 2 == 0)
                let linked = try vault.openFile(names[2])
                try vault.write(random.bytes(500), to: linked, at: 100)
                try vault.synchronize(linked, dataOnly: turn % 2 == 0)
            }
            try expectPromiseHolds("names of a killed session", vault, states: 180)
        }

        /// The disk may hold a removed file's name and nothing else of it.
        @Test(arguments: SimulatedDisk.Order.allCases) func removedBeforeACleanEnd(on order: SimulatedDisk.Order) throws
        {
            let vault = try RecordedVault(on: order)
            for turn in 0..<6 {
                let name = Name(bytes: "f\(turn)".utf8)!
                let file = try vault.makeFile(name)
                if turn % 2 == 0 { try vault.write([1, 2, 3], to: file, at: 0) }
                if turn % 3 == 0 { try vault.synchronize(file, dataOnly: true) }
                try vault.unlink(name, of: file.inode)
                try vault.close()
                try vault.reopen()
            }
            try expectPromiseHolds("files removed before a clean end", vault, states: 120)
        }
    }
}
