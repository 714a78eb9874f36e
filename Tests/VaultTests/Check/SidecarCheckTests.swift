import Format
import Foundation
import Posix
import TestStores
import TestSupport
import Testing

@testable import Vault
@testable import VaultCheck

/// What a check finds among the attributes that the store does not take, and what a repair does.
@Suite struct SidecarCheckTests {
    private static let name = Array("user.colour".utf8)
    private let scene: CheckScene

    /// A scene whose `/top` and `/folder` have sidecars.
    init() throws {
        let store = FewAttributes()
        scene = try CheckScene { InterceptingStore($0, hook: store) }
        try scene.test.vault.setAttribute(Self.name, to: [4, 5], flags: 0, of: .directory(scene.folder))
        try scene.test.vault.checkpoint()
    }

    private var folder: String { scene.test.path + "/lk.attributes" }
    private var sidecars: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] }

    private func sidecar(of path: String) throws -> String {
        let (directory, name, vault) = try scene.look(up: path)
        let identifier =
            switch try vault.lookup(name, in: directory).details {
            case .file(let header): header.file.bytes
            case .directory(let directory): directory.identifier.bytes
            case .other: [UInt8]()
            }
        return folder + "/lk.attributes." + String(hexadecimal: identifier)
    }

    @Test func soundOnes() throws {
        #expect(sidecars.count == 2)
        #expect(try scene.found().isEmpty)
        try scene.expectUnharmed()
    }

    /// A crash came between the removal of a file and that of its attributes.
    @Test func leftOvers() throws {
        let kept = try sidecar(of: "/top")
        let stray = folder + "/lk.attributes." + String(repeating: "0a", count: 16)
        try shell("cp '\(kept)' '\(stray)'; echo rubbish > '\(folder)/lk.tmp.rubbish'")
        #expect(try scene.found() == [Found(.orphan, .sidecar), Found(.orphan, .temporary)])
        #expect(try scene.findings().allSatisfy { $0.backingPath.starts(with: Array("lk.attributes/lk.".utf8)) })
        let repaired = try scene.repair()
        #expect(repaired.count == 2 && repaired.allSatisfy { $0.repair == .done("removed") }, "\(repaired)")
        #expect(sidecars.count == 2)
        #expect(try scene.found().isEmpty)
        try scene.expectUnharmed()
    }

    /// Its owner may be among what the walk could not see.
    @Test func nothingIsRemovedWhileAFileIsDamaged() throws {
        try scene.edit("/top") { $0[100] ^= 1 }
        #expect(try scene.found() == [Found(.damage, .header, "/top")])
        #expect(sidecars.count == 2)
    }

    @Test(arguments: ["/top", "/folder"]) func damagedOnes(path: String) throws {
        let sidecar = try sidecar(of: path)
        var bytes = [UInt8](try Data(contentsOf: URL(filePath: sidecar)))
        bytes[20] ^= 1
        try Data(bytes).write(to: URL(filePath: sidecar))
        #expect(try scene.found() == [Found(.damage, .attribute, path)])
        let repaired = try scene.repair()
        #expect(repaired.count == 1 && sidecars.count == 1, "\(repaired)")
        #expect(try scene.found().isEmpty)
        #expect(try scene.contents(of: "/lost+found\(path).attributes") == bytes)
        try scene.expectUnharmed()
    }

    /// A file whose header is lost keeps the attributes that its ID opens.
    @Test func salvageTakesThemAlong() throws {
        try scene.edit("/top") { $0[1000] ^= 1 }
        #expect(try scene.found() == [Found(.damage, .contents, "/top")])
        try scene.repair(salvages: true)
        for name in try scene.names(in: "/lost+found") where name.hasPrefix("top") {
            let (directory, name, vault) = try scene.look(up: "/lost+found/" + name)
            let file = try vault.openFile(name, in: directory)
            #expect(try vault.attribute(Self.name, of: .file(file)) == [1, 2, 3], "\(name)")
        }
        #expect(try scene.found().allSatisfy { $0.path?.hasPrefix("/lost+found/") ?? false })
    }
}
