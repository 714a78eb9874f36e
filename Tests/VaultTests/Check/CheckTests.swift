import Format
import Foundation
import Posix
import TestStores
import Testing

@testable import Vault
@testable import VaultCheck

/// Each kind of damage, and what a check says of it.
@Suite struct CheckTests {
    @Test(arguments: [StoreTraits.RecordKind.symbolicLink, .file])
    func aSoundVaultHasNothingToFind(_ kind: StoreTraits.RecordKind) throws {
        let scene = try CheckScene(recordKind: kind)
        #expect(try scene.findings().isEmpty)
        #expect(try scene.findings(contents: false, threads: 1).isEmpty)
    }

    /// Magic, volume, file, class, length, binding, wrap, MAC.
    @Test(arguments: [0, 30, 45, 56, 72, 110, 370, 500]) func aChangedHeader(_ offset: Int) throws {
        let scene = try CheckScene()
        try scene.edit("/folder/first") { $0[offset] ^= 1 }
        #expect(try scene.found(contents: false) == [Found(.damage, .header, "/folder/first")])
    }

    @Test(arguments: [0, 1, 511])
    func aFileTruncatedInItsHeader(_ size: Int) throws {
        let scene = try CheckScene()
        try scene.edit("/top") { $0 = Array($0[..<size]) }
        #expect(try scene.found(contents: false) == [Found(.damage, .header, "/top")])
    }

    @Test func zerosInPlaceOfAFile() throws {
        let scene = try CheckScene()
        try scene.edit("/top") { $0 = [UInt8](repeating: 0, count: $0.count) }
        let findings = try scene.findings()
        #expect(findings.map(\.kind) == [.header])
        #expect(findings[0].reason.text.contains("zeros"))
    }

    /// The first, a middle and the last block, and more of them.
    @Test(arguments: [[0], [2], [4], [1, 2], [0, 2, 4], [0, 1, 2, 3, 4]] as [[Int]])
    func changedBlocks(_ blocks: [Int]) throws {
        let scene = try CheckScene()
        try scene.edit("/folder/first") { bytes in
            for block in blocks { bytes[512 + 4128 * block + 20] ^= 1 }
        }
        #expect(try scene.findings(contents: false).isEmpty)
        let findings = try scene.findings()
        #expect(findings.map(\.kind) == [.contents])
        let lost = try #require(findings.first?.lost)
        let expected = blocks.map { UInt64($0 * 4096)..<UInt64(min(20_000, $0 * 4096 + 4096)) }
        #expect(lost.byteCount == expected.reduce(0) { $0 + UInt64($1.count) })
        #expect(expected.allSatisfy { range in lost.ranges.contains { $0.clamped(to: range) == range } })
    }

    /// A truncated file is found without any key.
    @Test(arguments: [0, 1, 4128, 4128 * 4 + 100]) func aTruncatedFile(_ stored: Int) throws {
        let scene = try CheckScene()
        let (size, left) = (512 + stored, UInt64(stored / 4128 * 4096))
        try scene.edit("/top") { $0 = Array($0[..<size]) }
        for contents in [false, true] {
            let findings = try scene.findings(contents: contents)
            #expect(findings.map(\.kind) == [.contents])
            #expect(findings.first?.lost?.ranges == [left..<20_000])
        }
    }

    @Test func aTruncationAndAChangedBlockAreOneFinding() throws {
        let scene = try CheckScene()
        try scene.edit("/top") { bytes in
            bytes = Array(bytes[..<(512 + 4128 * 3)])
            bytes[600] ^= 1
        }
        let findings = try scene.findings()
        #expect(findings.map(\.lost?.ranges) == [[0..<4096, 12_288..<20_000]])
    }

    @Test func filesExchanged() throws {
        let scene = try CheckScene()
        let (one, other) = (try scene.backing("/folder/first"), try scene.backing("/top"))
        try FileManager.default.moveItem(atPath: one, toPath: one + ".x")
        try FileManager.default.moveItem(atPath: other, toPath: one)
        try FileManager.default.moveItem(atPath: one + ".x", toPath: other)
        #expect(
            try scene.found() == [Found(.damage, .binding, "/folder/first"), Found(.damage, .binding, "/top")])
    }

    @Test(arguments: [true, false])
    func aDirectoryWithoutItsRecord(_ isRoot: Bool) throws {
        let scene = try CheckScene()
        let folder = isRoot ? scene.test.path : try scene.backing("/folder")
        try FileManager.default.removeItem(atPath: folder + "/lk.dir")
        #expect(try scene.found() == [Found(.damage, .directory, isRoot ? "/" : "/folder")])
    }

    @Test func aDirectoryWithTheRecordOfAnother() throws {
        let scene = try CheckScene()
        let (one, other) = (try scene.backing("/folder") + "/lk.dir", scene.test.path + "/lk.dir")
        try FileManager.default.removeItem(atPath: one)
        try FileManager.default.copyItem(atPath: other, toPath: one)
        #expect(try scene.found() == [Found(.damage, .directory, "/folder")])
    }

    @Test func whatAnInterruptionLeaves() throws {
        let scene = try CheckScene()
        let (root, folder) = (scene.test.path, try scene.backing("/folder"))
        try Data([1]).write(to: URL(fileURLWithPath: root + "/lk.tmp.abc"))
        try FileManager.default.createDirectory(atPath: folder + "/lk.tmp.def", withIntermediateDirectories: false)
        try FileManager.default.copyItem(atPath: folder + "/lk.dir", toPath: folder + "/lk.dir.new")
        try Data([1]).write(to: URL(fileURLWithPath: root + "/lk.keybag.old"))
        try FileManager.default.removeItem(atPath: try scene.backing("/" + CheckScene.longName.description))
        #expect(
            try scene.found() == [
                Found(.orphan, .temporary), Found(.orphan, .record), Found(.orphan, .keybagCopy),
                Found(.orphan, .sidecar),
            ])
        #expect(try scene.findings().count == 5)
    }

    @Test(arguments: [true, false])
    func aLongNameThatIsLost(_ isMissing: Bool) throws {
        let scene = try CheckScene()
        let sidecar = try scene.backing("/" + CheckScene.longName.description) + ".name"
        try FileManager.default.removeItem(atPath: sidecar)
        if !isMissing { try Data([1, 2, 3]).write(to: URL(fileURLWithPath: sidecar)) }
        #expect(try scene.found() == [Found(.damage, .name)])
    }

    /// Files of other programs are no damage, whatever they look like.
    @Test func foreignNames() throws {
        let scene = try CheckScene()
        let file = try scene.backing("/top")
        for name in [".DS_Store", "copy of \(file.split(separator: "/").last!)", "README-of-some-friendly-tool"] {
            try Data([1]).write(to: URL(fileURLWithPath: scene.test.path + "/" + name))
        }
        let inner = try scene.backing("/folder/inner")
        try FileManager.default.moveItem(
            atPath: inner, toPath: scene.test.path + "/" + inner.split(separator: "/").last!)
        let findings = try scene.findings()
        #expect(findings.count == 4)
        #expect(findings.allSatisfy { $0.severity == .note && $0.kind == .foreign })
    }

    @Test func aSymbolicLinkThatLeadsElsewhere() throws {
        let scene = try CheckScene()
        let link = try scene.backing("/link")
        try FileManager.default.removeItem(atPath: link)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/etc/passwd")
        #expect(try scene.found() == [Found(.damage, .symlink, "/link")])
    }

    @Test func anAttributeThatWasChanged() throws {
        let scene = try CheckScene()
        let file = try Descriptor.open(path: try scene.backing("/top"), O_RDWR)
        let name = try #require(try file.attributeNames().first { $0.hasPrefix("user.lk.") })
        var value = try file.attribute(name)
        value[20] ^= 1
        try file.setAttribute(name, to: value)
        #expect(try scene.found() == [Found(.damage, .attribute, "/top")])
    }

    /// Files that cannot be unwrapped without the passcode are counted; all others are read.
    @Test func lockedClasses() throws {
        let scene = try CheckScene()
        try scene.make("open", CheckScene.first, ProtectionClass.none)
        for path in ["/open", "/top"] { try scene.edit(path) { $0[600] ^= 1 } }
        scene.test.ring.wipe([.complete, .completeUnlessOpen, .completeUntilFirstUserAuthentication])
        let check = Check(of: try scene.vault(isReadOnly: true), contents: true, threads: 2) {
            #expect($0.path == Array("/open".utf8))
        }
        try check.run()
        #expect(check.progress.damaged == 1)
        #expect(check.progress.lockedFiles == 6)
    }

    @Test func holesAreSkippedButCheckedForWhatIsInThem() throws {
        let scene = try CheckScene()
        let file = try scene.make("sparse", [1, 2, 3])
        try file.write([9], at: 1 << 40)
        try file.write([5], at: 1 << 39)
        try file.synchronize(dataOnly: false)
        #expect(try scene.findings().isEmpty)
        let backing = try FileHandle(forWritingTo: URL(fileURLWithPath: try scene.backing("/sparse")))
        try backing.seek(toOffset: BlockGeometry.backingOffset(ofBlock: 1 << 27) + 20)
        try backing.write(contentsOf: Data([1, 2, 3]))
        #expect(try scene.findings().map(\.lost?.ranges) == [[1 << 39..<1 << 39 + 4096]])
    }

    /// More blocks than one worker takes at a time, and more directories than the queue holds.
    @Test(arguments: [1, 3]) func largeFilesAndWideTrees(_ threads: Int) throws {
        let scene = try CheckScene()
        try scene.make("large", [UInt8](repeating: 3, count: 20 << 20))
        for number in 0..<40 {
            let folder = try scene.test.makeDirectory(Name(bytes: "d\(number)".utf8)!)
            try scene.make("file", [UInt8(number)], in: folder)
        }
        try scene.edit("/large") { bytes in
            for block in [5, 2047, 2048, 5000] { bytes[512 + 4128 * block] ^= 1 }
        }
        try scene.edit("/d7/file") { $0[0] ^= 1 }
        let findings = try scene.findings(threads: threads).sorted { $0.path!.count < $1.path!.count }
        #expect(findings.map(\.kind) == [.contents, .header])
        let lost = try #require(findings[0].lost)
        #expect(lost.byteCount == 4 * 4096)
        #expect(lost.ranges.count == 3)
    }

    /// A bad sector costs the block that lies on it.
    @Test func aReadThatFails() throws {
        var faults: FaultInjectingStore!
        let scene = try CheckScene { base in
            faults = FaultInjectingStore(base)
            return faults
        }
        try scene.make("only", CheckScene.first)
        #expect(try scene.findings(threads: 1).isEmpty)
        faults.faults.fail([.read], with: .EIO, lasts: true)
        let findings = try scene.findings(threads: 1)
        #expect(findings.allSatisfy { $0.kind == .unreadable && $0.severity == .damage })
        faults.faults.clear()
    }

    @Test func nothingIsChanged() throws {
        var faults: FaultInjectingStore!
        let scene = try CheckScene { base in
            faults = FaultInjectingStore(base)
            return faults
        }
        try scene.edit("/top") { $0[0] ^= 1 }
        try scene.test.vault.close()
        // From here on any change fails, and is counted.
        faults.faults.fail(nil, with: .EROFS, lasts: true)
        let before = faults.faults.injected
        _ = try scene.findings()
        #expect(faults.faults.injected == before)
        faults.faults.clear()
    }

    @Test func cancelling() throws {
        let scene = try CheckScene()
        let check = Check(of: try scene.vault(isReadOnly: true), contents: true, threads: 2) { _ in }
        check.cancel()
        try check.run()
        #expect(check.progress.files == 0)
    }

    @Test func progressComesToAnEnd() throws {
        let scene = try CheckScene()
        let check = Check(of: try scene.vault(isReadOnly: true), contents: true, threads: 2, estimatesProgress: true) {
            _ in
        }
        try check.run()
        #expect(check.progress.fraction > 0.99 && check.progress.fraction <= 1)
        #expect(check.progress.directories == 3)
        #expect(check.progress.files == 7)
    }
}
