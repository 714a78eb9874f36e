import Format
import Posix
import TestStores
import TestSupport
import Testing
import Vault

@testable import CrashSimulator

extension CrashTests {
    /// A vault is copied file by file while it is in use, and the copy is opened.
    @Suite struct Copies {
        @Test(arguments: CopyRule.allCases) func madeWhileItIsWritten(rule: CopyRule) throws {
            let vault = try BusyVault(acts: 500, seed: 21)
            let simulation = Simulation("a copy of a vault in use", .ordered, budget: budget(90))
            let (report, unchanged) = try simulation.copies(of: vault.recorded, rule, promising: rule)
            print("crash: a copy of a vault in use, \(rule.rawValue): \(report); \(unchanged) unchanged files")
            for example in report.examples { print("crash:     \(example)") }
            #expect(report.badStates == 0, "\(report)")
            #expect(unchanged > 5 * report.states)
        }

        /// The advice is needed: without it a copy misses what was synced last, and this test finds that.
        @Test func synchronizedFilesNeedTheJournalFirst() throws {
            let vault = try RecordedVault()
            var random = SeededRandom(25)
            let files = try (0..<40).map { try vault.makeFile(Name(bytes: "f\($0)".utf8)!) }
            let busy = try vault.makeFile("busy")
            for file in files + [busy] { try vault.write(random.bytes(60_000), to: file, at: 0) }
            try vault.synchronizeAll()
            for file in files {
                try vault.write(random.bytes(8192), to: file, at: 0)
                try vault.synchronize(file, dataOnly: true)
                // The journal wraps around.
                for _ in 0..<3 {
                    try vault.write(random.bytes(60_000), to: busy, at: 0)
                    try vault.synchronize(busy, dataOnly: true)
                }
            }
            let simulation = Simulation("a copy while the journal wraps around", .ordered, budget: budget(30))
            for rule in CopyRule.allCases {
                let (report, _) = try simulation.copies(of: vault, rule, promising: .journalFirst)
                print("crash: what was synced before a copy, \(rule.rawValue): \(report)")
                for example in report.examples { print("crash:     \(example)") }
                #expect((report.counts[.contents, default: 0] > 0) == (rule == .anyOrder))
                if rule == .journalFirst { #expect(report.badStates == 0) }
            }
        }

        /// A copier that does not know of hard links makes several files of one. Each copy keeps what is synced,
        /// whether they are written one after the other or in turns.
        @Test(arguments: [false, true]) func linksBecomeFilesOfTheirOwn(inTurns: Bool) throws {
            let vault = try RecordedVault()
            let file = try vault.makeFile("a")
            try vault.write([UInt8](repeating: 1, count: 9000), to: file, at: 0)
            try vault.link("a", of: file, in: vault.root, to: "b", in: vault.root)
            try vault.close()
            var image = LiveDisk.image(of: vault.records)
            image.splitLinks()
            let folder = try StateFolder()
            try folder.hold(image)
            let (copy, root) = try vault.keys.open(folder)
            var held: [File] = []
            for (round, byte) in [(0, 2), (0, 3), (4096, 4), (4096, 5)] as [(UInt64, UInt8)] {
                let file = try copy.openFile(byte % 2 == 0 ? "a" : "b", in: root)
                if inTurns { held.append(file) }
                try file.loadKey()
                try file.prepareToWrite()
                try unsafe file.write([UInt8](repeating: byte, count: 3000).span.bytes, at: round + 100)
                try file.synchronize(dataOnly: true)
                if !inTurns && byte == 4 { try file.synchronize(dataOnly: false) }
            }
            // A power loss.
            let state = try StateFolder()
            try state.hold(contentsOf: folder)
            try copy.close()
            for folder in [state, folder] {
                let violations = vault.keys.check(folder) { observation in
                    for (name, bytes) in [("a", [2, 4]), ("b", [3, 5])] as [(Name, [UInt8])] {
                        let contents = observation.contents(of: name)
                        #expect(contents?.count == 9000)
                        #expect(contents?[200] == bytes[0] && contents?[4296] == bytes[1], "\(name)")
                    }
                    return observation.violations
                }
                #expect(violations.isEmpty)
            }
        }

        /// The copy has a file's header from before the file grew, and its last block from after that. If a program
        /// syncs the copied file, what could be read before the sync can be read after it.
        @Test func aGrownLastBlockUnderAnOldHeaderStays() throws {
            let vault = try RecordedVault()
            let file = try vault.makeFile("a")
            try vault.write([UInt8](repeating: 1, count: 5000), to: file, at: 0)
            try vault.synchronizeAll()
            let old = LiveDisk.image(of: vault.records)
            try vault.append([UInt8](repeating: 2, count: 10_000), to: file)
            try vault.close()
            var image = LiveDisk.image(of: vault.records)
            let inode = try #require(image.inodes.first { $0.value.bytes.count == 512 + 15_000 + 4 * 32 }?.key)
            image.inodes[inode]!.bytes.overwrite(at: 0, with: old.inodes[inode]!.bytes.array[..<512])
            let folder = try StateFolder()
            try folder.hold(image)
            let (copy, root) = try vault.keys.open(folder)
            let opened = try copy.openFile("a", in: root)
            try opened.loadKey()
            #expect(try opened.wholeContents() == [UInt8](repeating: 1, count: 5000))
            try opened.prepareToWrite()
            try opened.synchronize(dataOnly: false)
            try copy.close()
            let next = try vault.keys.open(folder)
            let seen = Observation(of: next.vault, root: next.root)
            #expect(seen.contents(of: "a") == [UInt8](repeating: 1, count: 5000), "\(seen.violations)")
        }

        /// The copy of a folder that does not change equals the folder.
        @Test(arguments: Copier.Order.allCases) func anUnchangedFolderIsCopied(order: Copier.Order) throws {
            let vault = try BusyVault(acts: 10, seed: 22).recorded
            var source = LiveDisk(vault.records, found: vault.found)
            source.advance(by: vault.records.count)
            for seed in 1...5 as ClosedRange<UInt64> {
                var copier = Copier(of: source, order, SeededRandom(seed))
                copier.run()
                #expect(files(of: copier.copy) == files(of: source.image))
            }
        }

        /// The paths and contents of all files.
        private func files(of image: DiskImage) -> [String: [UInt8]] {
            var files: [String: [UInt8]] = [:]
            func add(_ folder: RecordedInode, _ path: String) {
                for (name, number) in image.inodes[folder]!.entries {
                    let inode = image.inodes[number]!
                    switch inode.kind {
                    case .directory: add(number, "\(path)\(name)/")
                    case .symbolicLink(let target): files["\(path)\(name)"] = target
                    default: files["\(path)\(name)"] = inode.bytes.array
                    }
                }
            }
            add(.root, "")
            return files
        }

        /// The oracle finds what must not be in a copy.
        @Test func harmToUnchangedFilesIsFound() throws {
            let vault = try RecordedVault()
            let (unchanged, busy) = (try vault.makeFile("unchanged"), try vault.makeFile("busy"))
            for file in [unchanged, busy] { try vault.write([UInt8](repeating: 1, count: 9000), to: file, at: 0) }
            try vault.synchronizeAll()
            let quiet = vault.records.count
            try vault.write([UInt8](repeating: 2, count: 9000), to: busy, at: 0)
            let promise = CopyPromise(vault.promise, quietSince: quiet, to: vault.records.count)
            try vault.close()
            #expect(promise.unchangedFiles == 1)
            func kinds(after change: (Vault, Directory) throws -> Void) throws -> [Violation.Kind] {
                let opened = try vault.keys.open(vault.folder)
                try change(opened.vault, opened.root)
                try opened.vault.close()
                return vault.keys.check(vault.folder) { promise.violations(in: $0) }.map(\.kind)
            }
            func put(_ value: UInt8, _ count: Int, in name: Name, at offset: UInt64) throws -> [Violation.Kind] {
                try kinds { vault, root in
                    let file = try vault.openFile(name, in: root)
                    try file.loadKey()
                    try file.prepareToWrite()
                    try unsafe file.write([UInt8](repeating: value, count: count).span.bytes, at: offset)
                }
            }
            // The written file may hold old blocks and new ones, nothing else.
            #expect(try kinds { _, _ in } == [])
            #expect(try put(1, 4096, in: "busy", at: 0) == [])
            #expect(try put(3, 1, in: "busy", at: 0) == [.contents])
            #expect(try put(1, 1, in: "busy", at: 0) == [])
            #expect(try put(3, 1, in: "unchanged", at: 8000) == [.contents])
            #expect(try kinds { vault, root in try vault.unlink("unchanged", in: root) } == [.names])
        }
    }
}
