import Format
import Glibc
import Posix
import TestStores
import Testing

@testable import Vault

/// A vault with an entry of every kind, over a store whose calls can fail. Everything is checkpointed but the files
/// whose names say otherwise.
final class FaultScene {
    let test: TestVault
    let faults: FaultPlan
    let folder: Directory
    let other: Directory
    var vault: Vault { test.vault }
    var root: Directory { test.root }

    /// Encrypted, these names are too long for a backing name.
    static let long = Name(bytes: [UInt8](repeating: UInt8(ascii: "l"), count: 200))!
    static let longFree = Name(bytes: [UInt8](repeating: UInt8(ascii: "m"), count: 200))!
    static let longAttribute = Array("user.".utf8) + [UInt8](repeating: UInt8(ascii: "a"), count: 220)
    static let longTarget = [UInt8](repeating: UInt8(ascii: "t"), count: 3500)
    static let past = Timespec(seconds: 1_000_000_000, nanoseconds: 5)

    static func bytes(_ count: Int, _ seed: UInt8) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) &+ seed }
    }

    init(isPrivileged: Bool?) throws {
        test = try TestVault(isPrivileged: isPrivileged) { FaultInjectingStore($0) }
        faults = try #require(test.store as? FaultInjectingStore).faults
        folder = try test.makeDirectory("folder")
        other = try test.makeDirectory("other")
        let deep = try test.makeDirectory("deep", in: folder)
        _ = try test.makeDirectory("empty", in: other)
        let longFolder = try test.makeDirectory(Self.long, in: other)
        try make("leaf", Self.bytes(5000, 1), in: deep)
        try make("leaf", Self.bytes(10, 2), in: longFolder)
        let file = try make("file", Self.bytes(20_000, 3))
        try vault.setAttribute(Array("user.colour".utf8), to: [1, 2, 3], flags: 0, of: .file(file))
        try vault.setAttribute(Self.longAttribute, to: [4, 5], flags: 0, of: .file(file))
        try make("strict", Self.bytes(5000, 4)).setClass(.complete)
        try make("weak", Self.bytes(50, 5)).setClass(.none)
        try make("blank", [])
        try make(Self.long, Self.bytes(9000, 6))
        let linked = try make("linked", Self.bytes(4097, 7))
        try vault.link("linked", in: root, file: linked, to: "second", in: folder)
        let timed = try make("timed", Self.bytes(30, 8))
        try vault.makeSymbolicLink(to: Array("target".utf8), "link", in: root, user: getuid(), group: getgid())
        try vault.makeSymbolicLink(to: Self.longTarget, "far", in: root, user: getuid(), group: getgid())
        try vault.makeNode("pipe", in: folder, mode: S_IFIFO | 0o600, device: 0, test.me)
        let shared = try make("shared", [9])
        try vault.setAccessList(Self.list(5), of: .file(shared), dropsSetGroupID: false)
        try vault.setAccessList(Self.list(5), of: .directory(other), dropsSetGroupID: false)
        try vault.setDefaultList(Self.list(7), of: .directory(other))
        let sparse = try make("sparse", [])
        try sparse.truncate(to: 5000)
        try sparse.truncate(to: 1_300_000)
        try sparse.write(Self.bytes(100, 9), at: 30_000)
        try vault.checkpoint()
        try timed.setTimes(accessed: .keep, modified: .at(Self.past))
        try vault.checkpoint()
        // Durable in the journal alone.
        try make("young", Self.bytes(3000, 10))
        // In place, and newer blocks in the journal.
        let busy = try make("busy", Self.bytes(12_000, 11))
        try vault.checkpoint { [busy] }
        try busy.write(Self.bytes(5000, 12), at: 3000)
        try busy.synchronize(dataOnly: true)
        // Closed, and never synced.
        try make("fresh", Self.bytes(6000, 13), isSynced: false)
        files = []
    }

    /// Kept open, as by a program, until the act begins.
    private var files: [File] = []

    @discardableResult private func make(
        _ name: Name, _ contents: [UInt8], in directory: Directory? = nil, isSynced: Bool = true
    ) throws -> File {
        let file = try test.create(name, in: directory)
        if !contents.isEmpty { try file.write(contents, at: 0) }
        if isSynced { try file.synchronize(dataOnly: true) }
        try file.persistLength()
        file.close()
        files.append(file)
        return file
    }

    /// An access control list with a named group of these permissions.
    static func list(_ permissions: UInt32) -> [UInt8] {
        AccessControlList([
            .init(.owner, 6), .init(.owningGroup, 4), .init(.group, permissions, 77), .init(.mask, 7),
            .init(.others, 0),
        ])!.encoded
    }

    // MARK: What a mount does

    /// Opens a file, runs `body`, and closes it: the header then holds the new length.
    func using(_ name: Name, in directory: Directory? = nil, _ body: (File) throws -> Void) throws {
        let file = try vault.openFile(name, in: directory ?? root)
        try using(file, body)
    }

    func using(_ file: File, _ body: (File) throws -> Void) throws {
        defer { file.close() }
        do { try body(file) } catch {
            // As at the close that follows: the first error was already reported.
            try? file.persistLength()
            throw error
        }
        try file.persistLength()
    }

    func rename(_ old: Name, in parent: Directory? = nil, to new: Name, into newParent: Directory? = nil) throws {
        let (parent, newParent) = (parent ?? root, newParent ?? root)
        let target = try found(new, in: newParent)
        var replaced: ReplacedFile?
        if case .file(let header)? = target?.details { replaced = ReplacedFile(header) }
        try withMoved(old, in: parent) { moved in
            try vault.rename(
                vault.renameEnd(old, in: parent), moved, to: vault.renameEnd(new, in: newParent), replaced: replaced,
                RenameKind())
        }
    }

    func withMoved(_ name: Name, in parent: Directory, _ body: (Moved) throws -> Void) throws {
        switch try vault.lookup(name, in: parent).details {
        case .file: try using(name, in: parent) { try body(.file($0)) }
        case .directory(let directory): try body(.directory(directory))
        case .other: try body(.other)
        }
    }

    func exchange(_ name: Name, _ other: Name, in otherParent: Directory) throws {
        try withMoved(name, in: root) { one in
            try withMoved(other, in: otherParent) { two in
                try vault.exchange(Exchanged(name, in: root, one), Exchanged(other, in: otherParent, two))
            }
        }
    }

    private func found(_ name: Name, in parent: Directory) throws -> FoundEntry? {
        do { return try vault.lookup(name, in: parent) } catch VaultError.system(.ENOENT) { return nil }
    }
}
