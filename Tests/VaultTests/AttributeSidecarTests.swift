import Format
import Foundation
import Glibc
import Posix
import Store
import TestStores
import TestSupport
import Testing

@testable import Vault

/// Attributes that the backing store does not take.
@Suite struct AttributeSidecarTests {
    private static let one = Array("user.one".utf8)
    private static let two = Array("user.two".utf8)
    /// The longest name that Linux takes.
    private static let long = Array(("user." + String(repeating: "n", count: 250)).utf8)
    private static let large = [UInt8](repeating: UInt8(ascii: "L"), count: 5000)

    private let store: FewAttributes
    private let test: TestVault

    private static func make(upTo limit: Int? = nil) throws -> AttributeSidecarTests {
        try AttributeSidecarTests(FewAttributes(upTo: limit))
    }

    init() throws { try self.init(FewAttributes()) }

    private init(_ store: FewAttributes) throws {
        self.store = store
        test = try TestVault { InterceptingStore($0, hook: store) }
    }

    private var vault: Vault { test.vault }

    /// The names in `lk.attributes`; nil if there is no such folder.
    private var sidecars: [String]? { try? FileManager.default.contentsOfDirectory(atPath: folder) }
    private var folder: String { test.path + "/lk.attributes" }

    private func path(of owner: AttributeOwner) -> String {
        folder + "/lk.attributes." + String(hexadecimal: owner.subject.identifier)
    }

    private func value(_ name: [UInt8], _ owner: AttributeOwner) throws -> [UInt8] {
        try vault.attribute(name, of: owner)
    }

    private func expectNone(_ name: [UInt8], _ owner: AttributeOwner, _ location: SourceLocation = #_sourceLocation) {
        #expect(throws: VaultError.system(.ENODATA), sourceLocation: location) { try value(name, owner) }
    }

    @Test func ofFilesAndFolders() throws {
        let file = AttributeOwner.file(try test.create("file"))
        for owner in [file, .directory(try test.makeDirectory("folder")), .directory(test.root)] {
            expectNone(Self.one, owner)
            #expect(try vault.attributeNames(of: owner) == [])
            #expect(throws: VaultError.system(.ENODATA)) {
                try vault.setAttribute(Self.one, to: [1], flags: XATTR_REPLACE, of: owner)
            }
            try vault.setAttribute(Self.one, to: Array("plaintext".utf8), flags: XATTR_CREATE, of: owner)
            #expect(throws: VaultError.system(.EEXIST)) {
                try vault.setAttribute(Self.one, to: [1], flags: XATTR_CREATE, of: owner)
            }
            try vault.setAttribute(Self.long, to: [], flags: 0, of: owner)
            #expect(try value(Self.one, owner) == Array("plaintext".utf8) && value(Self.long, owner) == [])
            #expect(Set(try vault.attributeNames(of: owner)) == [Self.one, Self.long])
            try vault.setAttribute(Self.one, to: [2], flags: XATTR_REPLACE, of: owner)
            try vault.removeAttribute(Self.long, of: owner)
            #expect(throws: VaultError.system(.ENODATA)) { try vault.removeAttribute(Self.long, of: owner) }
            #expect(try value(Self.one, owner) == [2] && vault.attributeNames(of: owner) == [Self.one])
            let bytes = try Data(contentsOf: URL(filePath: path(of: owner)))
            #expect(bytes.range(of: Data(Self.one)) == nil, "the name is encrypted")
        }
        #expect(sidecars?.count == 3)
        let after = try test.afterDeath()
        let again = AttributeOwner.file(try after.vault.openFile("file", in: after.root))
        #expect(try after.vault.attribute(Self.one, of: again) == [2])
        #expect(try after.vault.attribute(Self.one, of: .directory(after.root)) == [2])
        try vault.removeAttribute(Self.one, of: file)
        #expect(sidecars?.count == 2, "an empty sidecar goes")
        expectNone(Self.one, file)
    }

    /// A store that has attributes keeps those that it takes.
    @Test func onlyTheLargeOnesOfAStoreWithSmallOnes() throws {
        let other = try Self.make(upTo: 1000)
        let (vault, file) = (other.vault, try other.test.create("file"))
        let owner = AttributeOwner.file(file)
        try vault.setAttribute(Self.one, to: [1], flags: 0, of: owner)
        #expect(other.sidecars == nil)
        try vault.setAttribute(Self.two, to: Self.large, flags: XATTR_CREATE, of: owner)
        #expect(other.sidecars?.count == 1)
        #expect(Set(try vault.attributeNames(of: owner)) == [Self.one, Self.two])
        #expect(try vault.attribute(Self.one, of: owner) == [1] && vault.attribute(Self.two, of: owner) == Self.large)
        // One that grows moves, and what was in the store before does not come back.
        try vault.setAttribute(Self.one, to: Self.large, flags: XATTR_REPLACE, of: owner)
        #expect(try file.descriptor.attributeNames().filter { $0.hasPrefix("user.lk.") }.isEmpty)
        #expect(try vault.attribute(Self.one, of: owner) == Self.large)
        try vault.setAttribute(Self.one, to: [3], flags: 0, of: owner)
        #expect(try vault.attribute(Self.one, of: owner) == [3])
        try vault.removeAttribute(Self.one, of: owner)
        #expect(try vault.attributeNames(of: owner) == [Self.two])
        other.expectNone(Self.one, owner)
    }

    /// A vault that moves from a store without attributes to one that has them, and back.
    @Test func movesBetweenStores() throws {
        let owner = AttributeOwner.file(try test.create("file"))
        try vault.setAttribute(Self.one, to: [1], flags: 0, of: owner)
        store.take(upTo: 65_536)
        #expect(try value(Self.one, owner) == [1])
        try vault.setAttribute(Self.two, to: [2], flags: 0, of: owner)
        try vault.setAttribute(Self.one, to: [3], flags: 0, of: owner)
        #expect(try value(Self.one, owner) == [3] && value(Self.two, owner) == [2])
        #expect(Set(try vault.attributeNames(of: owner)) == [Self.one, Self.two])
        store.take(upTo: nil)
        #expect(try value(Self.one, owner) == [3] && vault.attributeNames(of: owner) == [Self.one])
    }

    @Test func goWithTheLastName() throws {
        let owner = AttributeOwner.file(try test.create("file"))
        try vault.setAttribute(Self.one, to: [1], flags: 0, of: owner)
        try test.rename("file", to: "moved")
        #expect(try value(Self.one, owner) == [1])
        guard case .file(let file) = owner else { return }
        try vault.link("moved", in: test.root, file: file, to: "second", in: test.root)
        try vault.unlink("moved", in: test.root)
        try vault.checkpoint()
        #expect(sidecars?.count == 1)
        let second = AttributeOwner.file(try vault.openFile("second", in: test.root))
        #expect(try value(Self.one, second) == [1])
        try vault.unlink("second", in: test.root)
        // A program that has the file open can still ask.
        try vault.checkpoint()
        #expect(try value(Self.one, owner) == [1] && sidecars?.count == 1)
    }

    /// At once after a rename, while the header still has the old binding.
    @Test func goAfterARenameOrALink() throws {
        do {
            let file = try test.create("file")
            try vault.setAttribute(Self.one, to: [1], flags: 0, of: .file(file))
            try test.rename("file", to: "moved")
            try vault.setAttribute(Self.two, to: [1], flags: 0, of: .file(file))
            try vault.link("moved", in: test.root, file: file, to: "second", in: test.root)
            file.close()
        }
        try vault.unlink("moved", in: test.root)
        try vault.unlink("second", in: test.root)
        try vault.checkpoint()
        try vault.checkpoint()
        #expect(sidecars == [])
    }

    @Test(arguments: [false, true]) func goOnceNobodyHasTheFileOpen(isReplaced: Bool) throws {
        do {
            let file = try test.create("file")
            try vault.setAttribute(Self.one, to: [1], flags: 0, of: .file(file))
            file.close()
        }
        try vault.checkpoint()
        #expect(sidecars?.count == 1)
        if isReplaced {
            _ = try test.create("new")
            try test.rename("new", to: "file")
        } else {
            try vault.unlink("file", in: test.root)
        }
        try vault.checkpoint()
        #expect(sidecars == [])
    }

    @Test func goWithAFolder() throws {
        for name in ["removed", "replaced", "moved"] as [Name] {
            let folder = try test.makeDirectory(name)
            try vault.setAttribute(Self.one, to: name.bytes, flags: 0, of: .directory(folder))
        }
        #expect(sidecars?.count == 3)
        try vault.removeDirectory("removed", in: test.root)
        try test.rename("moved", to: "replaced")
        try vault.checkpoint()
        #expect(sidecars?.count == 1)
        let folder = try vault.openDirectory("replaced", in: test.root)
        #expect(try value(Self.one, .directory(folder)) == Array("moved".utf8))
    }

    /// A copier that does not know of hard links makes two files of one, both with its ID.
    @Test func stayWhileACopyOfTheFileIsThere() throws {
        let file = try test.create("file")
        try vault.setAttribute(Self.one, to: [1], flags: 0, of: .file(file))
        try vault.link("file", in: test.root, file: file, to: "second", in: test.root)
        file.close()
        try vault.checkpoint()
        let stored = test.path + "/" + (try vault.storedName("second", in: test.root).name.description)
        try shell("cp -a '\(stored)' '\(stored).copy' && mv '\(stored).copy' '\(stored)'")
        let after = try test.afterDeath()
        for (name, other) in [("file", "second"), ("second", nil)] as [(Name, Name?)] {
            try after.vault.unlink(name, in: after.root)
            try after.vault.checkpoint()
            guard let other else { continue }
            let left = AttributeOwner.file(try after.vault.openFile(other, in: after.root))
            #expect(try after.vault.attribute(Self.one, of: left) == [1])
        }
    }

    @Test func listsAreInherited() throws {
        let list = AccessControlList([
            .init(.owner, 7), .init(.user, 6, 1234), .init(.owningGroup, 4), .init(.mask, 6), .init(.others, 0),
        ])!
        let folder = try test.makeDirectory("folder")
        try vault.setDefaultList(list.encoded, of: .directory(folder))
        let file = AttributeOwner.file(
            try vault.createFile(
                "file", in: folder, Ownership(mode: 0o666, user: getuid(), group: getgid()),
                .completeUntilFirstUserAuthentication))
        let access = Array(AccessControlList.accessAttribute.utf8)
        #expect(AccessControlList(decoding: try value(access, file))?.mode == 0o660)
        try vault.removeAccessList(of: file)
        expectNone(access, file)
        let count = sidecars?.count
        #expect(throws: VaultError.system(.EEXIST)) { _ = try test.create("file", in: folder) }
        #expect(sidecars?.count == count, "a file that is not made leaves none")
    }

    @Test func aTotalSizeIsNotExceeded() throws {
        let owner = AttributeOwner.file(try test.create("file"))
        let value = [UInt8](repeating: 1, count: 65_536)
        var taken = 0
        for number in 0..<17 {
            let name = Array("user.\(number)".utf8)
            do throws(VaultError) { try vault.setAttribute(name, to: value, flags: 0, of: owner) } catch {
                #expect(error == .system(.ENOSPC) && number == 15)
                break
            }
            taken += 1
        }
        #expect(try taken == 15 && vault.attributeNames(of: owner).count == 15)
        #expect(try self.value(Array("user.14".utf8), owner) == value)
    }

    // MARK: Damage

    @Test func changesAreRefused() throws {
        let owner = AttributeOwner.file(try test.create("file"))
        let other = AttributeOwner.directory(try test.makeDirectory("folder"))
        for owner in [owner, other] { try vault.setAttribute(Self.one, to: [1], flags: 0, of: owner) }
        let path = path(of: owner)
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        var wrong: [[UInt8]] = [[], Array(bytes.dropLast()), bytes + [0], [UInt8](repeating: 0, count: 2 << 20)]
        for offset in [0, 16, 40, bytes.count - 1] {
            var changed = bytes
            changed[offset] ^= 1
            wrong.append(changed)
        }
        wrong.append([UInt8](try Data(contentsOf: URL(filePath: self.path(of: other)))))
        for bytes in wrong {
            try Data(bytes).write(to: URL(filePath: path))
            #expect(throws: VaultError.self) { try value(Self.one, owner) }
            #expect(throws: VaultError.self) { try vault.attributeNames(of: owner) }
            do throws(VaultError) { try vault.setAttribute(Self.two, to: [1], flags: 0, of: owner) } catch {
                #expect(error.errno == .EIO)
            }
            #expect([UInt8](try Data(contentsOf: URL(filePath: path))) == bytes, "nothing is written over it")
        }
        try Data(bytes).write(to: URL(filePath: path))
        #expect(try value(Self.one, owner) == [1])
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: self.path(of: other))
        #expect(throws: VaultError.self) { try value(Self.one, owner) }
        try FileManager.default.removeItem(atPath: path)
        unsafe mkfifo(path, 0o600)
        #expect(throws: VaultError.self) { try value(Self.one, owner) }
    }

    @Test func aFolderThatIsNoneIsRefused() throws {
        let owner = AttributeOwner.file(try test.create("file"))
        try vault.setAttribute(Self.one, to: [1], flags: 0, of: owner)
        try vault.checkpoint()
        let outside = test.path + ".outside"
        try shell("mv '\(folder)' '\(outside)'; ln -s '\(outside)' '\(folder)'")
        let after = try test.afterDeath()
        let file = AttributeOwner.file(try after.vault.openFile("file", in: after.root))
        #expect(throws: VaultError.damaged("the folder of attributes is not a folder")) {
            try after.vault.attribute(Self.one, of: file)
        }
        #expect(throws: VaultError.self) { try after.vault.setAttribute(Self.two, to: [1], flags: 0, of: file) }
        try after.vault.unlink("file", in: after.root)
        try after.vault.checkpoint()
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside).count == 1)
    }

    /// Each call of a change fails once: the old or the new value is there.
    @Test(arguments: [Errno.ENOSPC, .EIO], [FaultPlan.Effect.none, .whole])
    func isTheOldOrTheNewOneWhateverFails(error: Errno, effect: FaultPlan.Effect) throws {
        for removes in [false, true] {
            var call = 0
            var failed = true
            while failed {
                call += 1
                try #require(call < 100, "it fails for ever")
                var faults: FaultInjectingStore!
                let store = FewAttributes()
                let test = try TestVault {
                    faults = FaultInjectingStore(InterceptingStore($0, hook: store))
                    return faults
                }
                let owner = AttributeOwner.file(try test.create("file"))
                try test.vault.setAttribute(Self.one, to: [1], flags: 0, of: owner)
                faults.faults.fail(
                    [.open, .write, .synchronize, .rename, .unlink, .makeDirectory], nth: call, with: error,
                    effect: effect)
                var isRefused = false
                do throws(VaultError) {
                    if removes {
                        try test.vault.removeAttribute(Self.one, of: owner)
                    } else {
                        try test.vault.setAttribute(Self.one, to: [2], flags: 0, of: owner)
                    }
                } catch { isRefused = true }
                failed = faults.faults.injected > 0
                faults.faults.clear()
                let found = try? test.vault.attribute(Self.one, of: owner)
                let new: [UInt8]? = removes ? nil : [2]
                #expect(found == new || (isRefused && found == [1]), "call \(call) of removes=\(removes)")
            }
            #expect(call > 3, "nothing was tried")
        }
    }

    /// A store with attributes, and a vault without sidecars: not one call more.
    @Test func withoutSidecarsNothingIsAsked() throws {
        let counter = CallCounter()
        let test = try TestVault { InterceptingStore($0, hook: counter) }
        let file = try test.create("file")
        let owner = AttributeOwner.file(file)
        try test.vault.setAttribute(Self.one, to: [1], flags: 0, of: owner)
        let calls = try counter.calls { _ = try test.vault.attribute(Self.one, of: owner) }
        #expect(calls == [.attribute: 1], "\(calls)")
        let missing = counter.calls { _ = try? test.vault.attribute(Self.two, of: owner) }
        #expect(missing == [.attribute: 1], "\(missing)")
        file.close()
        try test.vault.checkpoint()
        let removal = try counter.calls { try test.vault.unlink("file", in: test.root) }
        #expect(removal == [.status: 1, .unlink: 1], "\(removal)")
    }
}
