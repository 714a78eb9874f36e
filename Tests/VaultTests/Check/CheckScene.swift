import Format
import Foundation
import Posix
import Store
import Synchronization
import Testing

@testable import Vault

/// What a check found, short enough to compare.
struct Found: Hashable, CustomStringConvertible {
    let severity: Finding.Severity
    let kind: Finding.Kind
    let path: String?

    init(_ severity: Finding.Severity, _ kind: Finding.Kind, _ path: String? = nil) {
        self.severity = severity
        self.kind = kind
        self.path = path
    }

    var description: String { "\(severity) \(kind) \(path ?? "-")" }
}

/// A vault with a few files, for a test to damage behind the vault's back and check.
final class CheckScene {
    let test: TestVault
    let folder: Directory
    static let first = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    static let second = (0..<9_000).map { UInt8(truncatingIfNeeded: $0 &* 11) }
    static let longName = Name(bytes: [UInt8](repeating: UInt8(ascii: "n"), count: 240))!
    static let outer = "/folder/first"

    init(
        recordKind: StoreTraits.RecordKind = .symbolicLink, wrapping wrap: (DirectoryStore) throws -> any Store = { $0 }
    )
        throws
    {
        test = try TestVault(recordKind: recordKind, wrapping: wrap)
        folder = try test.makeDirectory("folder")
        let inner = try test.makeDirectory("inner", in: folder)
        try make("first", Self.first, in: folder)
        try make("second", Self.second, in: folder)
        try make("deep", Self.second, in: inner)
        try make("top", Self.first)
        try make("empty", [])
        try make(Self.longName, Self.second)
        try test.vault.makeSymbolicLink(
            to: Array("target".utf8), "link", in: test.root, user: getuid(), group: getgid())
        let file = try test.vault.openFile("top", in: test.root)
        try test.vault.setAttribute(Array("user.colour".utf8), to: [1, 2, 3], flags: 0, of: .file(file))
    }

    @discardableResult func make(
        _ name: Name, _ contents: [UInt8], _ protectionClass: ProtectionClass? = nil, in directory: Directory? = nil
    ) throws -> File {
        let file = try test.create(name, protectionClass, in: directory)
        if !contents.isEmpty { try file.write(contents, at: 0) }
        try file.synchronize(dataOnly: false)
        return file
    }

    /// A read-only view of the vault, as it is after a new start.
    var vault: Vault {
        Vault(
            store: test.store, keys: test.vault.keys, ring: test.ring, traits: test.vault.traits, isReadOnly: true,
            isPrivileged: test.vault.isPrivileged)
    }

    func findings(contents: Bool = true, threads: Int = 2) throws -> [Finding] {
        let found = Mutex<[Finding]>([])
        try found.collect(
            Check(of: vault, contents: contents, threads: threads) { finding in
                found.withLock { $0.append(finding) }
            })
        return found.withLock { $0 }
    }

    /// Everything that a check finds.
    func found(contents: Bool = true) throws -> Set<Found> {
        Set(
            try findings(contents: contents).map {
                Found($0.severity, $0.kind, $0.path.map { String(decoding: $0, as: UTF8.self) })
            })
    }

    /// The path of a backing file, by its path in the mount.
    func backing(_ path: String) throws -> String {
        var directory = test.root
        var backing = test.path
        let names = path.split(separator: "/").map { Name(bytes: $0.utf8)! }
        for (index, name) in names.enumerated() {
            backing += "/" + (try test.vault.storedName(name, in: directory).name.description)
            if index < names.count - 1 { directory = try test.vault.openDirectory(name, in: directory) }
        }
        return backing
    }

    func edit(_ path: String, _ change: (inout [UInt8]) -> Void) throws {
        let url = URL(fileURLWithPath: try backing(path))
        var bytes = [UInt8](try Data(contentsOf: url))
        change(&bytes)
        // In place: the attributes and the inode stay.
        let handle = try FileHandle(forWritingTo: url)
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: Data(bytes))
        try handle.close()
    }
}

extension Mutex<[Finding]> {
    borrowing func collect(_ check: Check) throws { try check.run() }
}
