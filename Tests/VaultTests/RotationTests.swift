import Crypto
import Format
import Foundation
import Posix
import Synchronization
import TestStores
import Testing

@testable import Keybag
@testable import Vault

/// Files are given new class keys.
@Suite struct RotationTests {
    private func rotate(_ test: TestVault) throws {
        let bundle = try Bundle.generated()
        let rotation = RotationKeys(previous: KeySet(), unlockMACKey: try bundle.unlockMACKey())
        test.ring.rotate(
            to: try bundle.classKeys(publicKey: X25519.publicKey(of: bundle.privateKeyB()), rotation: rotation))
    }

    private func rotation(of vault: Vault) -> KeyRotation {
        KeyRotation(of: vault, tree: ReadWriteLock(), isStopped: { false })
    }

    /// Whether the backing file has the new key, whatever is in memory.
    private func isRenewed(_ file: File, _ vault: Vault) throws -> Bool {
        let header = try vault.readHeader(of: file.descriptor)
        return try vault.renewed(header.protection, of: header.file) == nil
    }

    private func finish(_ rotation: KeyRotation) throws {
        for _ in 0..<4 {
            switch rotation.walk() {
            case .clean: return try rotation.makeDurable()
            case .unproven: continue
            case .failed, .interrupted: throw VaultError.damaged("\(rotation.progress)")
            }
        }
        throw VaultError.damaged("it does not end")
    }

    /// Each change fails in turn, once for want of room or from then on, and the daemon dies or goes on: the file
    /// reads, and a renewed key is on the disk.
    @Test(arguments: [Errno.EIO, .ENOSPC, .EROFS], [false, true]) func failsAtEachStep(errno: Errno, isJournaled: Bool)
        throws
    {
        var failures = 0
        for step in 1..<100 {
            let test = try TestVault { FaultInjectingStore($0) }
            let faults = try #require(test.store as? FaultInjectingStore).faults
            let file = try test.create("a", .complete)
            try file.write([UInt8](repeating: 1, count: 9000), at: 0)
            try test.vault.synchronize()
            if isJournaled {
                try file.write([2], at: 4000)
                try file.synchronize(dataOnly: true)
            }
            let wanted = try file.contents(9000)
            let times = try file.status()
            try rotate(test)
            faults.fail(.all, nth: step, with: errno, effect: step % 2 == 0 ? .none : .whole)
            let isDone = try? file.renewWrap()
            let injected = faults.injected
            faults.clear()
            if isDone == nil { failures += 1 } else { #expect(try isRenewed(file, test.vault)) }
            file.dropKey()
            #expect(try file.contents(9000) == wanted, "step \(step)")
            #expect(try file.status().modified == times.modified, "step \(step)")
            #expect(try file.status().changed == times.changed, "step \(step)")
            let next = try test.afterDeath()
            let found = try next.vault.openFile("a", in: next.root)
            #expect(try found.contents(9000) == wanted, "step \(step)")
            // The daemon goes on.
            try finish(rotation(of: next.vault))
            #expect(try isRenewed(found, next.vault))
            found.dropKey()
            #expect(try found.contents(9000) == wanted, "step \(step)")
            if injected == 0 { break }
        }
        #expect(failures >= 2)
    }

    /// A rename that fails restores the header that it found, old key included: the walk comes back to it.
    @Test func aFailedRenameBringsTheOldKeyBack() throws {
        let test = try TestVault()
        let file = try test.create("a", .complete)
        try test.vault.synchronize()
        try rotate(test)
        let move = try file.beginMove(
            to: test.vault.binding(of: "b", in: test.root), in: test.root.identifier, taking: nil,
            replacing: nil, isRename: true)
        #expect(try file.renewWrap())
        try file.cancelMove(move)
        #expect(try test.vault.renewed(file.header.protection, of: file.identifier) != nil)
        let rotation = rotation(of: test.vault)
        #expect(rotation.walk() == .unproven)
        #expect(rotation.walk() == .clean)
        #expect(try isRenewed(file, test.vault))
    }

    /// A rename during a walk, finished or not, means that another walk must follow.
    @Test func renamesUnderWayAreWaitedFor() throws {
        let test = try TestVault()
        _ = try test.create("a")
        try rotate(test)
        try finish(rotation(of: test.vault))
        let rotation = rotation(of: test.vault)
        let outcome = try test.vault.order.renames.noting([]) { () throws(VaultError) in rotation.walk() }
        #expect(outcome == .unproven)
        #expect(rotation.walk() == .clean)
        // More renames than are kept.
        let moved = (0..<2000).map {
            ConcurrentRenames.Renamed(name: Name(bytes: Array("f\($0)".utf8))!, parent: test.root)
        }
        test.vault.order.renames.watch()
        try test.vault.order.renames.noting(moved) { () throws(VaultError) in }
        #expect(!test.vault.order.renames.areSeen)
    }

    /// A folder that keeps moving, behind the walk or away from it, is found all the same.
    @Test(arguments: [0, 1]) func aFolderThatMovesPastTheWalk(first: Int) throws {
        let test = try TestVault()
        let folders = try ["one", "two"].map { try test.makeDirectory($0) }
        for folder in folders { _ = try test.create("f", in: folder) }
        _ = try test.create("file", in: test.makeDirectory("runaway", in: folders[first]))
        try test.vault.synchronize()
        try rotate(test)
        let current = Mutex(first)
        let progress = Mutex<(() -> UInt64)?>(nil)
        let rotation = KeyRotation(of: test.vault, tree: ReadWriteLock()) {
            // Before the first of the two folders is looked at, and after it.
            guard let seen = progress.withLock({ $0?() }), seen < 2 else { return false }
            current.withLock { current in
                guard current != (seen == 0 ? first : 1 - first) else { return }
                try? test.rename("runaway", to: "runaway", in: folders[current], newParent: folders[1 - current])
                current = 1 - current
            }
            return false
        }
        progress.withLock { $0 = { rotation.progress.files } }
        defer { progress.withLock { $0 = nil } }
        var outcome = rotation.walk()
        for _ in 0..<4 where outcome == .unproven { outcome = rotation.walk() }
        func isRunawayRenewed() throws -> Bool {
            let folder = try test.vault.openDirectory("runaway", in: folders[current.withLock { $0 }])
            return try isRenewed(test.vault.openFile("file", in: folder), test.vault)
        }
        #expect(try isRunawayRenewed() || outcome != .clean)
        progress.withLock { $0 = nil }
        try finish(rotation)
        #expect(try isRunawayRenewed())
    }

    /// Copies that a sync program has made, under names and in folders of its own, belong to the vault too.
    @Test func foreignNames() throws {
        let test = try TestVault()
        let file = try test.create("a", .completeUnlessOpen)
        try file.write([1, 2, 3], at: 0)
        try test.vault.synchronize()
        let stored = try test.vault.storedName("a", in: test.root).name.description
        try FileManager.default.createDirectory(atPath: test.path + "/.versions", withIntermediateDirectories: false)
        for copy in ["\(stored).sync-conflict", ".versions/\(stored)~1", ".versions/other"] {
            try FileManager.default.copyItem(atPath: "\(test.path)/\(stored)", toPath: "\(test.path)/\(copy)")
        }
        // A copy under another file's name, a file that is not the vault's, and one that a crash has left empty.
        try FileManager.default.copyItem(
            atPath: "\(test.path)/\(stored)",
            toPath: test.path + "/" + (try test.vault.storedName("b", in: test.root).name.description))
        try Data([UInt8](repeating: 7, count: 900)).write(to: URL(filePath: test.path + "/.versions/foreign"))
        try Data().write(
            to: URL(filePath: test.path + "/" + (try test.vault.storedName("c", in: test.root).name.description)))
        try rotate(test)
        try finish(rotation(of: test.vault))
        test.ring.endRotation()
        for copy in [stored, "\(stored).sync-conflict", ".versions/\(stored)~1", ".versions/other"] {
            let bytes = Array(try Data(contentsOf: URL(filePath: "\(test.path)/\(copy)")).prefix(512))
            let header = try unsafe test.vault.header(from: bytes.span.bytes)
            let wrap = FileKeyWrap(algorithm: header.protection.wrapAlgorithm, bytes: header.protection.wrap)
            _ = try test.ring.unwrap(wrap, file: header.file, class: header.protectionClass)
        }
    }

    /// A damaged file keeps its old key, and so the old keys are kept.
    @Test func aDamagedHeaderFails() throws {
        let test = try TestVault()
        _ = try test.create("a")
        _ = try test.create("b")
        try test.vault.synchronize()
        let path = test.path + "/" + (try test.vault.storedName("a", in: test.root).name.description)
        var bytes = Array(try Data(contentsOf: URL(filePath: path)))
        bytes[500] ^= 1
        test.vault.abandon()
        try Data(bytes).write(to: URL(filePath: path))
        try rotate(test)
        let rotation = rotation(of: test.vault)
        #expect(rotation.walk() == .failed)
        #expect(rotation.progress.failed == 1 && rotation.progress.renewed == 1)
        #expect(rotation.progress.failure?.contains("a: ") == true)
        bytes[500] ^= 1
        try Data(bytes).write(to: URL(filePath: path))
        try finish(rotation)
    }

    /// A lock ends the walk between two files; no file is half done.
    @Test func stopsWithoutKeys() throws {
        let test = try TestVault()
        for number in 0..<10 { _ = try test.create(Name(bytes: Array("f\(number)".utf8))!, .complete) }
        try test.vault.synchronize()
        try rotate(test)
        test.vault.evict([.complete, .completeUnlessOpen])
        #expect(rotation(of: test.vault).walk() == .interrupted)
    }
}
