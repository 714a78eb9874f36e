import Format
import Foundation
import Posix
import Store
import Synchronization
import TestSupport
import Testing

@testable import Vault
@testable import VaultCheck

/// The findings of a check, short enough to compare.
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

/// A vault with a few files. A test damages it behind the vault's back and then checks it.
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
        // The tests write to backing files: no other writer may be open.
        try test.vault.checkpoint()
    }

    @discardableResult func make(
        _ name: Name, _ contents: [UInt8], _ protectionClass: ProtectionClass? = nil, in directory: Directory? = nil
    ) throws -> File {
        let file = try test.create(name, protectionClass, in: directory)
        if !contents.isEmpty { try file.write(contents, at: 0) }
        try file.synchronize(dataOnly: false)
        return file
    }

    /// Another program's view of the vault, opened anew.
    func vault(isReadOnly: Bool) throws -> Vault {
        try test.vault.close()
        return test.next(isReadOnly: isReadOnly, journalSize: .smallest)
    }

    func findings(contents: Bool = true, threads: Int = 2) throws -> [Finding] {
        let found = Findings()
        try Check(of: try vault(isReadOnly: true), contents: contents, threads: threads) { found.add($0) }.run()
        return found.all
    }

    /// All findings of a check.
    func found(contents: Bool = true) throws -> Set<Found> { Set(try findings(contents: contents).map(Found.init)) }

    /// The findings of a repair, and what the repair has done about them.
    @discardableResult func repair(salvages: Bool = false) throws -> [Finding] {
        let found = Findings()
        try Repair(of: try vault(isReadOnly: false), contents: true, salvages: salvages, threads: 2) {
            found.add($0)
        }.run()
        return found.all
    }

    /// The contents of a file, read anew.
    func contents(of path: String) throws -> [UInt8] {
        let (directory, name, vault) = try look(up: path)
        let file = try vault.openFile(name, in: directory)
        return try file.contents(Int(file.length))
    }

    /// All names in a directory.
    func names(in path: String) throws -> Set<String> {
        let (directory, name, vault) = try look(up: path)
        let found = path == "/" ? directory : try vault.openDirectory(name, in: directory)
        return Set(try vault.entries(of: found).map(\.name.description))
    }

    func look(up path: String) throws -> (Directory, Name, Vault) {
        let vault = try vault(isReadOnly: true)
        var directory = try vault.openRoot()
        let names = path.split(separator: "/").map { Name(bytes: $0.utf8)! }
        for name in names.dropLast() { directory = try vault.openDirectory(name, in: directory) }
        return (directory, names.last ?? "x", vault)
    }

    /// Everything from the beginning is unchanged, except for these paths.
    func expectUnharmed(except damaged: String..., sourceLocation: SourceLocation = #_sourceLocation) throws {
        let all = [
            "/folder/first": Self.first, "/folder/second": Self.second, "/folder/inner/deep": Self.second,
            "/top": Self.first, "/empty": [], "/" + Self.longName.description: Self.second,
        ]
        for (path, expected) in all where !damaged.contains(where: path.hasPrefix) {
            #expect(try contents(of: path) == expected, "\(path)", sourceLocation: sourceLocation)
        }
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

    /// A copy of the backing folder, to go back to.
    func snapshot() throws -> String {
        let copy = test.path + ".copy"
        try shell("cp -a '\(test.path)' '\(copy)'")
        return copy
    }

    /// Restores the backing folder; the folder's own inode stays.
    func restore(_ copy: String) throws {
        try shell("find '\(test.path)' -mindepth 1 -delete && cp -a '\(copy)/.' '\(test.path)/'")
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

/// Findings from any thread.
final class Findings: Sendable {
    private let findings = Mutex<[Finding]>([])

    var all: [Finding] { findings.withLock { $0 } }

    func add(_ finding: Finding) { findings.withLock { $0.append(finding) } }
}

extension Found {
    init(_ finding: Finding) {
        self.init(finding.severity, finding.kind, finding.path.map { String(decoding: $0, as: UTF8.self) })
    }
}
