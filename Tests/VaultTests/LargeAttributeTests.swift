import Format
import Foundation
import Posix
import TestStores
import TestSupport
import Testing

@testable import Vault

/// Whether the tests' store takes such values: tmpfs does, ext4 with its usual settings does not.
private enum LargeValues {
    static let areTaken: Bool = {
        guard let folder = try? TemporaryFolder(),
            let file = try? folder.descriptor().open("file", O_RDWR | O_CREAT, mode: 0o600)
        else { return false }
        return (try? file.setAttribute("user.probe", to: [UInt8](repeating: 1, count: 65_536))) != nil
    }()
}

/// Values that do not fit into one attribute of the backing store together with what encryption adds.
@Suite(.enabled(if: LargeValues.areTaken, "the temporary folder takes no values of 64 KiB"))
struct LargeAttributeTests {
    private static let name = Array("user.large".utf8)
    private static let long = Array(("user." + String(repeating: "n", count: 240)).utf8)

    private static func value(_ letter: Character, _ count: Int = 65_536) -> [UInt8] {
        [UInt8](repeating: letter.asciiValue!, count: count)
    }

    private func continuations(of file: Descriptor) throws -> [String] {
        try file.attributeNames().filter { $0.hasPrefix("user.lk.rest.") }.sorted()
    }

    @Test func ofAllSizesAroundTheLimit() throws {
        let test = try TestVault()
        let file = try test.create("file")
        let owner = AttributeOwner.file(file)
        for name in [Self.name, Self.long] {
            // Encryption adds 33 bytes under a short name; under a long one, its encrypted name too.
            let fits = name == Self.name ? 65_503 : 65_503 - 2 - 16 - name.count
            for count in [fits - 1, fits, fits + 1, 65_536, fits, 65_536, 65_535, 0] {
                try test.vault.setAttribute(name, to: Self.value("v", count), flags: 0, of: owner)
                #expect(try test.vault.attribute(name, of: owner) == Self.value("v", count), "\(count)")
                #expect(try test.vault.attributeNames(of: owner) == [name])
                #expect(try continuations(of: file.descriptor).count == (count > fits ? 1 : 0), "\(count)")
            }
            try test.vault.setAttribute(name, to: Self.value("w"), flags: 0, of: owner)
            try test.vault.removeAttribute(name, of: owner)
            #expect(try file.descriptor.attributeNames().filter { $0.hasPrefix("user.") }.isEmpty)
        }
    }

    @Test func refusesWhatIsAskedForInVain() throws {
        let test = try TestVault()
        let owner = AttributeOwner.file(try test.create("file"))
        #expect(throws: VaultError.system(.ENODATA)) {
            try test.vault.setAttribute(Self.name, to: Self.value("a"), flags: XATTR_REPLACE, of: owner)
        }
        try test.vault.setAttribute(Self.name, to: Self.value("a"), flags: XATTR_CREATE, of: owner)
        #expect(throws: VaultError.system(.EEXIST)) {
            try test.vault.setAttribute(Self.name, to: Self.value("b"), flags: XATTR_CREATE, of: owner)
        }
        #expect(try test.vault.attribute(Self.name, of: owner) == Self.value("a"))
        #expect(try continuations(of: owner.descriptor).count == 1)
    }

    /// A continuation that is missing, changed, of another value, of another file, or of an earlier value.
    @Test func aContinuationBelongsToItsValue() throws {
        let test = try TestVault()
        let (file, other) = (try test.create("file"), try test.create("other"))
        for (letter, file) in [("a", file), ("b", other)] as [(Character, File)] {
            try test.vault.setAttribute(Self.name, to: Self.value(letter), flags: 0, of: .file(file))
            try test.vault.setAttribute(Self.long, to: Self.value(letter, 65_530), flags: 0, of: .file(file))
        }
        let backing = file.descriptor
        func continuation(of name: [UInt8], _ file: File) throws -> (name: String, bytes: [UInt8]) {
            let subject = AttributeOwner.file(file).subject
            let stored = try test.vault.storedName(ofAttribute: name, of: subject).name
            let continuation = try #require(test.vault.continuation(of: stored, of: subject)).backing()
            return (continuation, try file.descriptor.attribute(continuation))
        }
        let own = try continuation(of: Self.name, file)
        func expectRefused(_ what: String) throws {
            #expect(throws: VaultError.damaged("an extended attribute was changed"), "\(what)") {
                try test.vault.attribute(Self.name, of: .file(file))
            }
            #expect(try test.vault.attribute(Self.long, of: .file(file)) == Self.value("a", 65_530), "\(what)")
            try backing.setAttribute(own.name, to: own.bytes)
            #expect(try test.vault.attribute(Self.name, of: .file(file)) == Self.value("a"), "\(what)")
        }
        try backing.removeAttribute(own.name)
        try expectRefused("gone")
        for foreign in [
            try continuation(of: Self.long, file).bytes, try continuation(of: Self.name, other).bytes, [],
            own.bytes + [0],
        ] {
            try backing.setAttribute(own.name, to: foreign)
            try expectRefused("exchanged")
        }
        var changed = own.bytes
        changed[0] ^= 1
        try backing.setAttribute(own.name, to: changed)
        try expectRefused("changed")
        // A new value under the old name does not accept the old continuation.
        try test.vault.setAttribute(Self.name, to: Self.value("c"), flags: 0, of: .file(file))
        try backing.setAttribute(try continuation(of: Self.name, file).name, to: own.bytes)
        #expect(throws: VaultError.damaged("an extended attribute was changed")) {
            try test.vault.attribute(Self.name, of: .file(file))
        }
    }

    /// Each call fails once, of a set over a large value and of a removal: the old or the new value is there, and
    /// nothing is left but orphans, which fsck removes.
    @Test(arguments: [Errno.ENOSPC, .EIO], [FaultPlan.Effect.none, .whole])
    func isTheOldOrTheNewOneWhateverFails(error: Errno, effect: FaultPlan.Effect) throws {
        for (count, removes) in [(65_536, false), (5, false), (0, true)] {
            var call = 0
            var failed = true
            while failed {
                call += 1
                try #require(call < 1000, "it fails for ever")
                var faults: FaultInjectingStore!
                let scene = try CheckScene { base in
                    faults = FaultInjectingStore(base)
                    return faults
                }
                let vault = scene.test.vault
                let file = try vault.openFile("top", in: scene.test.root)
                let owner = AttributeOwner.file(file)
                try vault.setAttribute(Self.name, to: Self.value("a"), flags: 0, of: owner)
                try file.synchronize(dataOnly: false)
                let value = Self.value("b", count)
                faults.faults.fail(
                    [.setAttribute, .removeAttribute, .synchronize], nth: call, with: error, effect: effect)
                var isRefused = false
                do throws(VaultError) {
                    if removes {
                        try vault.removeAttribute(Self.name, of: owner)
                    } else {
                        try vault.setAttribute(Self.name, to: value, flags: 0, of: owner)
                    }
                } catch { isRefused = true }
                failed = faults.faults.injected > 0
                faults.faults.clear()
                let found = try? vault.attribute(Self.name, of: owner)
                let new = removes ? nil : value
                if isRefused {
                    #expect(found == new || found == Self.value("a"), "call \(call)")
                    if effect == .none { #expect(found == Self.value("a"), "call \(call)") }
                } else {
                    #expect(found == new, "call \(call)")
                }
                #expect(call > 1 || failed, "nothing was tried")
                file.close()
                // A flush that has failed is reported at the end too.
                try? vault.close()
                let findings = try scene.found()
                #expect(
                    findings.allSatisfy { $0 == Found(.orphan, .continuation, "/top") }, "call \(call): \(findings)")
                try scene.repair()
                #expect(try scene.found().isEmpty, "call \(call)")
            }
            #expect(call > (count > 5 ? 4 : 3))
        }
    }

    /// The continuation of a value that a crash has lost: not shown, reported by fsck, and removed by its repair.
    @Test func anOrphanedContinuation() throws {
        let scene = try CheckScene()
        let file = try scene.test.vault.openFile("top", in: scene.test.root)
        try scene.test.vault.setAttribute(Self.name, to: Self.value("a"), flags: 0, of: .file(file))
        let orphan = AttributeName.continuation(nonce: [UInt8](repeating: 7, count: 16)).backing()
        try file.descriptor.setAttribute(orphan, to: [1, 2, 3])
        try scene.folder.descriptor.setAttribute(orphan, to: [1, 2, 3])
        #expect(try scene.test.vault.attributeNames(of: .file(file)).count == 2)
        #expect(try scene.test.vault.attributeNames(of: .directory(scene.folder)).isEmpty)
        file.close()
        #expect(try scene.found() == [Found(.orphan, .continuation, "/top"), Found(.orphan, .continuation, "/folder")])
        try scene.repair()
        #expect(try scene.found().isEmpty)
        let (root, _, vault) = try scene.look(up: "/top")
        let again = try vault.openFile("top", in: root)
        #expect(try vault.attribute(Self.name, of: .file(again)) == Self.value("a"), "what belongs to a value stays")
        try scene.expectUnharmed()
    }

    /// A value that does not open is removed with its continuation, and the report names both.
    @Test func aDamagedValueGoesWithItsContinuation() throws {
        let scene = try CheckScene()
        let file = try scene.test.vault.openFile("top", in: scene.test.root)
        try scene.test.vault.setAttribute(Self.name, to: Self.value("a"), flags: 0, of: .file(file))
        let name = try #require(
            try file.descriptor.attributeNames().first { (try? file.descriptor.attribute($0).count) == 65_536 })
        var bytes = try file.descriptor.attribute(name)
        bytes[30_000] ^= 1
        try file.descriptor.setAttribute(name, to: bytes)
        file.close()
        #expect(try scene.found() == [Found(.damage, .attribute, "/top")])
        try scene.repair()
        #expect(try scene.found().isEmpty)
        let backing = try Descriptor.open(path: try scene.backing("/top"), O_RDONLY)
        #expect(try continuations(of: backing).isEmpty)
        let report = String(decoding: try scene.contents(of: "/lost+found/REPORT.txt"), as: UTF8.self)
        #expect(report.contains("attribute removed: user.lk.rest."))
    }
}
