import Foundation
import Posix
import TestStores
import Testing

@testable import Vault

/// The first sync of a new file waits for one flush. The header that confirms the flushed bytes is written after that
/// flush, so a power loss may leave the earlier header.
@Suite struct FirstSyncTests {
    private let model = [UInt8]((0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    private let shown = Timespec(seconds: 1_000_000_000, nanoseconds: 5)

    /// A synced file as a power loss leaves it, before the last header has reached the disk.
    private func afterACrash() throws -> (test: TestVault, vault: Vault, root: Directory, backing: String) {
        let atFlush = BytesAtFlush()
        let test = try TestVault(wrapping: { InterceptingStore($0, hook: atFlush) })
        let file = try test.create("file")
        try file.write(model, at: 0)
        try file.setTimes(accessed: .keep, modified: .at(shown))
        try file.persistLength()
        let name = try #require(try test.backingNames.first { !$0.hasPrefix("lk.") })
        let backing = test.path + "/" + name
        atFlush.watch(backing)
        try file.synchronize(dataOnly: false)
        let before = try #require(atFlush.header)
        #expect(Array(try #require(FileManager.default.contents(atPath: backing)).prefix(512)) != before)
        #expect(try file.status().modified == shown)
        file.close()

        let descriptor = try Descriptor.open(path: backing, O_RDWR)
        let own = try descriptor.status().modified
        try unsafe descriptor.write(before.span.bytes, at: 0)
        try descriptor.setTimes(accessed: .keep, modified: .at(own))
        let (vault, root) = try test.afterDeath()
        return (test, vault, root, backing)
    }

    /// Synced bytes stay in place until another durable copy exists.
    @Test func isBelowTheDurableEndAfterACrash() throws {
        let (test, vault, root, backing) = try afterACrash()
        let file = try vault.openFile("file", in: root)
        try file.loadKey()
        #expect(try file.contents(20_000) == model)
        let stored = try #require(FileManager.default.contents(atPath: backing)).dropFirst(512)
        try file.write([1], at: 0)
        try file.write([2], at: 9_999)
        try file.punch(4096..<8192)
        #expect(try #require(FileManager.default.contents(atPath: backing)).dropFirst(512) == stored)
        try file.truncate(to: 5_000)
        #expect(
            try #require(FileManager.default.contents(atPath: backing)).dropFirst(512).prefix(stored.count) == stored)
        try vault.checkpoint()
        #expect(try file.contents(20_000) == [1] + model[1..<4096] + [UInt8](repeating: 0, count: 904))
        withExtendedLifetime(test) {}
    }

    /// stat(2) shows the same as before, whichever header is on disk.
    @Test func showsItsTimes() throws {
        let (test, vault, root, _) = try afterACrash()
        let status = try vault.openFile("file", in: root).status()
        #expect(status.modified == shown && status.size == 10_000)
        withExtendedLifetime(test) {}
    }
}
