import CrashSimulator
import Format
import Posix
import TestSupport
import Testing

extension CrashTests {
    /// Names are made, moved, linked and removed.
    @Suite struct Names {
        private func name(_ text: String) -> Name { Name(bytes: text.utf8)! }

        @Test(arguments: SimulatedDisk.Order.allCases) func directoryTrees(on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            for tree in 0..<8 {
                let top = try vault.makeDirectory(name("top\(tree)"))
                try vault.synchronize()
                var parent = top
                for depth in 0..<5 {
                    let child = try vault.makeDirectory(name("d\(depth)"), in: parent)
                    let file = try vault.makeFile(name("f\(depth)"), in: child)
                    try vault.write([UInt8](repeating: UInt8(depth), count: 700 * depth), to: file, at: 0)
                    try vault.synchronize(parent)
                    if depth % 2 == 0 { try vault.synchronize(file) }
                    try vault.synchronize(child)
                    parent = child
                }
            }
            try expectPromiseHolds("mkdir trees with fsync of the parent", vault)
        }

        /// Files that are never synced, in directories that are.
        @Test(arguments: SimulatedDisk.Order.allCases) func unsyncedFiles(on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            let (one, two) = (try vault.makeDirectory("one"), try vault.makeDirectory("two"))
            try vault.synchronize()
            for turn in 0..<16 {
                let file = try vault.makeFile(name("f\(turn)"), in: one)
                if turn % 2 == 0 { try vault.write([UInt8](repeating: 1, count: 300 * turn), to: file, at: 0) }
                if turn % 3 == 0 { try vault.synchronize(one) }
                if turn % 4 < 2 { try vault.rename(name("f\(turn)"), of: file, in: one, to: name("g\(turn)")) }
                if turn % 5 == 0 { try vault.synchronize(one) }
                if turn % 8 == 1 {
                    try vault.rename(name("g\(turn)"), of: file, in: one, to: name("h\(turn)"), in: two)
                    try vault.synchronize(two)
                }
                if turn % 8 == 2 { try vault.unlink(name("f\(turn)"), of: file.inode, in: one) }
                if turn % 7 == 0 { try vault.synchronize(one) }
            }
            try expectPromiseHolds(
                "files never synced, in directories that are", vault, states: 120)
        }

        /// As editors save: a new file is synced and renamed over the old one. Every other time the directory is not
        /// synced.
        @Test(arguments: SimulatedDisk.Order.allCases) func atomicSaves(on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            var random = SeededRandom(5)
            let folder = try vault.makeDirectory("documents")
            let first = try vault.makeFile("letter", in: folder)
            try vault.write(random.bytes(5000), to: first, at: 0)
            try vault.setClass(.complete, of: first)
            try vault.synchronize(first)
            try vault.synchronize(folder)
            try vault.synchronize()
            for save in 0..<40 {
                let new = try vault.makeFile(name("letter.\(save % 3)"), in: folder)
                try vault.write(random.bytes(Int.random(in: 0...9000, using: &random)), to: new, at: 0)
                try vault.synchronize(new)
                try vault.rename(name("letter.\(save % 3)"), of: new, in: folder, to: "letter")
                if save % 2 == 0 { try vault.synchronize(folder) }
            }
            try expectPromiseHolds("atomic saves over a class", vault)
        }

        /// The same over a class that was not set: the file was made in a directory of class A, and moved out of it.
        @Test(arguments: SimulatedDisk.Order.allCases) func atomicSavesOverAnInheritedClass(
            on order: SimulatedDisk.Order
        ) throws {
            let vault = try RecordedVault(on: order)
            var random = SeededRandom(7)
            let strict = try vault.makeDirectory("strict")
            try vault.setDefaultClass(.complete, of: strict)
            let folder = try vault.makeDirectory("documents")
            let first = try vault.makeFile("letter", in: strict)
            try vault.write(random.bytes(5000), to: first, at: 0)
            try vault.synchronize(first)
            try vault.rename("letter", of: first, in: strict, to: "letter", in: folder)
            try vault.synchronize()
            for save in 0..<20 {
                let new = try vault.makeFile(name("letter.\(save % 3)"), in: save % 4 == 3 ? vault.root : folder)
                try vault.write(random.bytes(Int.random(in: 0...9000, using: &random)), to: new, at: 0)
                try vault.synchronize(new)
                try vault.rename(
                    name("letter.\(save % 3)"), of: new, in: save % 4 == 3 ? vault.root : folder, to: "letter",
                    in: folder)
                if save % 2 == 0 { try vault.synchronize(folder) }
            }
            let saved = try vault.vault.lookup("letter", in: folder.directory)
            guard case .file(let header) = saved.details else { throw Errno.ENOENT }
            #expect(header.protectionClass == .complete)
            #expect(!header.protection.isExplicit)
            try expectPromiseHolds("atomic saves over an inherited class", vault, states: 180)
        }

        @Test(arguments: SimulatedDisk.Order.allCases) func classChanges(on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            var random = SeededRandom(6)
            let files = try (0..<4).map { try vault.makeFile(name("f\($0)")) }
            for (index, file) in files.enumerated() where index > 0 {
                try vault.write(random.bytes(3000 * index), to: file, at: 0)
                try vault.synchronize(file)
            }
            try vault.synchronize()
            for step in 0..<60 {
                let file = files.randomElement(using: &random)!
                try vault.setClass(ProtectionClass.allCases.randomElement(using: &random)!, of: file)
                if step % 3 == 0 { try vault.synchronize(file) }
                if step % 4 == 0 { try vault.append(random.bytes(50), to: file) }
                if step % 7 == 0 { try vault.setDefaultClass(ProtectionClass.allCases[step % 4], of: vault.root) }
                if step % 21 == 0 { try vault.synchronize() }
            }
            try expectPromiseHolds("class changes", vault)
        }

        /// Files and directories exchange their names while the files are written to, synced or not.
        @Test(arguments: 1...2 as ClosedRange<UInt64>, SimulatedDisk.Order.allCases)
        func exchanges(seed: UInt64, on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            var random = SeededRandom(seed)
            let folders = [try vault.makeDirectory("one"), try vault.makeDirectory("two")]
            let long = name(String(repeating: "long name ", count: 20))
            // The current name and folder of each file.
            var entries: [(name: Name, parent: RecordedVault.Folder, file: RecordedVault.OpenFile)] = []
            for (index, name) in [name("a"), long, name("c"), name("d")].enumerated() {
                let parent = folders[index % 2]
                entries.append((name, parent, try vault.makeFile(name, in: parent)))
                try vault.write(random.bytes(4000 * index), to: entries[index].file, at: 0)
                if index > 0 { try vault.synchronize(entries[index].file) }
            }
            try vault.synchronize(folders[0])
            // Each has a file in it that is written to under both paths.
            var inner: [(name: Name, folder: RecordedVault.Folder)] = []
            for index in 0..<2 {
                inner.append((name("d\(index)"), try vault.makeDirectory(name("d\(index)"), in: folders[index])))
                entries.append((name("f"), inner[index].folder, try vault.makeFile("f", in: inner[index].folder)))
                try vault.write(random.bytes(5000), to: entries[4 + index].file, at: 0)
            }
            try vault.synchronize()
            var isMixed = false
            for turn in 0..<24 {
                let file = entries.randomElement(using: &random)!.file
                try vault.write(random.bytes(600), to: file, at: Int.random(in: 0...6000, using: &random))
                if turn % 2 == 0 { try vault.synchronize(file, dataOnly: turn % 4 == 0) }
                switch turn % 6 {
                case 5 where !isMixed:
                    try vault.exchange(
                        .init(inner[0].name, inner[0].folder, in: folders[0]),
                        .init(inner[1].name, inner[1].folder, in: folders[1]))
                    inner = [(inner[0].name, inner[1].folder), (inner[1].name, inner[0].folder)]
                case 2:
                    // A file and a directory, and back.
                    let one = (isMixed ? inner[0].name : entries[0].name, isMixed ? folders[0] : entries[0].parent)
                    let other = (isMixed ? entries[0].name : inner[0].name, isMixed ? entries[0].parent : folders[0])
                    try vault.exchange(
                        .init(one.0, entries[0].file, in: one.1), .init(other.0, inner[0].folder, in: other.1))
                    isMixed.toggle()
                default:
                    let (one, other) = turn % 2 == 0 ? (1, 2) : (3, 4)
                    try vault.exchange(
                        .init(entries[one].name, entries[one].file, in: entries[one].parent),
                        .init(entries[other].name, entries[other].file, in: entries[other].parent))
                    (entries[one].file, entries[other].file) = (entries[other].file, entries[one].file)
                }
                if turn % 5 == 0 { try vault.synchronize(folders[turn % 2]) }
                if turn % 11 == 0 { try vault.synchronize() }
            }
            try expectPromiseHolds("exchanges", vault)
        }

        /// As programs publish files: a file without a name is written, synced and linked, and perhaps its folder is
        /// synced.
        @Test(arguments: SimulatedDisk.Order.allCases) func filesThatGetAName(on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            var random = SeededRandom(8)
            let folder = try vault.makeDirectory("folder")
            try vault.synchronize()
            for turn in 0..<12 {
                let contents = random.bytes(Int.random(in: 1...9000, using: &random))
                let nameless = try vault.makeNamelessFile()
                try unsafe nameless.write(contents.span.bytes, at: 0)
                try nameless.synchronize(dataOnly: turn % 2 == 0)
                let file = try vault.giveName(name("f\(turn)"), in: folder, to: nameless, holding: contents)
                if turn % 3 == 0 { try vault.synchronize(folder) }
                if turn % 4 == 1 { try vault.write(random.bytes(500), to: file, at: 100) }
                if turn % 4 == 2 { try vault.synchronize(file) }
            }
            try expectPromiseHolds("files that get a name", vault)
        }

        @Test(arguments: SimulatedDisk.Order.allCases) func longNamesAndMoves(on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            var random = SeededRandom(7)
            let one = try vault.makeDirectory("one")
            let two = try vault.makeDirectory("two")
            let long = (0..<3).map { name(String(repeating: "long name \($0) ", count: 20)) }
            var files: [RecordedVault.OpenFile] = []
            for index in 0..<3 {
                files.append(try vault.makeFile(name("s\(index)"), in: one))
                try vault.write(random.bytes(100 * index), to: files[index], at: 0)
                try vault.synchronize(files[index])
            }
            try vault.synchronize(one)
            try vault.synchronize()
            for turn in 0..<12 {
                let file = files[turn % 3]
                let short = name("s\(turn % 3)")
                try vault.rename(short, of: file, in: one, to: long[turn % 3], in: two)
                if turn % 2 == 0 { try vault.synchronize(two) }
                // Over another long name, and back.
                if turn % 4 == 3 {
                    let victim = try vault.makeFile(long[(turn + 1) % 3], in: two)
                    try vault.synchronize(victim)
                    try vault.rename(long[turn % 3], of: file, in: two, to: long[(turn + 1) % 3])
                    try vault.synchronize(two)
                    try vault.rename(long[(turn + 1) % 3], of: file, in: two, to: short, in: one)
                } else {
                    try vault.rename(long[turn % 3], of: file, in: two, to: short, in: one)
                }
                try vault.synchronize(one)
                if turn % 3 == 0 { try vault.synchronize(two) }
            }
            try expectPromiseHolds("renames over long names", vault)
        }

        @Test(arguments: SimulatedDisk.Order.allCases) func directoriesMoveAndGo(on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            let one = try vault.makeDirectory("one")
            let two = try vault.makeDirectory("two")
            try vault.synchronize()
            for turn in 0..<10 {
                let folder = try vault.makeDirectory(name("d\(turn)"), in: one)
                let file = try vault.makeFile("inside", in: folder)
                try vault.write([UInt8](repeating: 7, count: 100), to: file, at: 0)
                try vault.synchronize(file)
                try vault.synchronize(folder)
                try vault.synchronize(one)
                try vault.rename(name("d\(turn)"), of: folder, in: one, to: "moved", in: two)
                if turn % 2 == 0 { try vault.synchronize(two) }
                let empty = try vault.makeDirectory(name("e\(turn)"), in: two)
                if turn % 3 == 0 { try vault.synchronize(two) }
                try vault.rename("moved", of: folder, in: two, to: name("e\(turn)"))
                try vault.synchronize(two)
                try vault.unlink("inside", of: file.inode, in: folder)
                try vault.removeDirectory(name("e\(turn)"), folder, in: two)
                if turn % 4 == 0 { try vault.synchronize(one) }
                _ = empty
            }
            try expectPromiseHolds("directories renamed and removed", vault)
        }

        @Test(arguments: SimulatedDisk.Order.allCases) func links(on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            let folder = try vault.makeDirectory("folder")
            try vault.synchronize()
            for turn in 0..<10 {
                let file = try vault.makeFile(name("a\(turn)"))
                try vault.write([UInt8](repeating: UInt8(turn), count: 5000), to: file, at: 0)
                try vault.synchronize(file)
                if turn % 2 == 0 { try vault.synchronize() }
                try vault.link(name("a\(turn)"), of: file, in: vault.root, to: name("b\(turn)"), in: folder)
                if turn % 3 == 0 { try vault.synchronize(folder) }
                try vault.makeSymbolicLink(to: "a\(turn)", name("l\(turn)"))
                try vault.unlink(name("a\(turn)"), of: file.inode)
                try vault.synchronize()
                try vault.rename(name("b\(turn)"), of: file, in: folder, to: name("c\(turn)"), in: vault.root)
            }
            try expectPromiseHolds("links", vault)
        }
    }
}
