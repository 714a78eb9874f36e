import Format
import Foundation
import Glibc
import Posix
import TestStores
import Testing

@testable import Vault

/// stat(2) without a header shows the same as with one, or there is no summary.
@Suite struct SummaryTests {
    /// Checkpoints everything, and looks the name up as the next daemon does: from the summary, and with the header.
    private func look(_ name: Name, _ test: TestVault) throws -> (brief: FileStatus?, whole: FoundEntry) {
        try test.vault.checkpoint()
        let (vault, root) = try test.afterDeath()
        let whole = try vault.lookup(name, in: root)
        guard case .summarized(let status, let summary) = try vault.lookupInBrief(name, in: root) else {
            return (nil, whole)
        }
        guard case .file(let header) = whole.details else { throw VaultError.damaged("no file") }
        #expect(summary.file == header.file)
        #expect(summary.generation == header.generation)
        #expect(summary.protectionClass == header.protectionClass)
        #expect(summary.isExplicit == header.protection.isExplicit)
        return (status, whole)
    }

    private static let acts: [String: @Sendable (File) throws -> Void] = [
        "nothing": { _ in },
        "a write": { try $0.write([UInt8](repeating: 7, count: 5000), at: 0) },
        "a whole block": { try $0.write([UInt8](repeating: 7, count: 4096), at: 0) },
        "a truncation": {
            try $0.write([UInt8](repeating: 7, count: 50_000), at: 0)
            try $0.synchronize(dataOnly: false)
            try $0.truncate(to: 4097)
        },
        "a hole": { try $0.truncate(to: 100 << 20) },
        "times": {
            try $0.write([1], at: 0)
            try $0.setTimes(
                accessed: .keep, modified: .at(Timespec(seconds: -5, nanoseconds: 123_456_789)))
        },
        "a class": {
            try $0.write([1], at: 0)
            try $0.setClass(.complete)
        },
        "a mode": {
            try $0.write([1], at: 0)
            try $0.setMode(0o640)
        },
    ]

    @Test(arguments: acts.keys.sorted()) func saysWhatTheHeaderSays(_ act: String) throws {
        let test = try TestVault()
        let file = try test.create("file")
        try Self.acts[act]!(file)
        file.close()
        let (brief, whole) = try look("file", test)
        #expect(brief == whole.status)
    }

    /// Each change of a file that was checkpointed, before the next checkpoint.
    @Test func isVoidOnceTheFileIsAnother() throws {
        let test = try TestVault()
        for change: @Sendable (File) throws -> Void in [
            { try $0.write([2], at: 0) }, { try $0.write([UInt8](repeating: 7, count: 5000), at: 0) },
            { try $0.truncate(to: 0) },
            { try $0.setTimes(accessed: .keep, modified: .at(Timespec(seconds: 7, nanoseconds: 0))) },
        ] {
            let file = try test.create("file")
            try file.write([1], at: 0)
            file.close()
            #expect(try look("file", test).brief != nil)
            try change(file)
            try file.persistLength()
            // In the memory of this daemon, and in that of the next.
            guard case .whole = try test.vault.lookupInBrief("file", in: test.root) else {
                Issue.record("its summary is believed while it is in use")
                return
            }
            let (vault, root) = try test.afterDeath()
            let whole = try vault.lookup("file", in: root)
            switch try vault.lookupInBrief("file", in: root) {
            case .whole: break
            case .summarized(let status, _): #expect(status == whole.status)
            }
            try test.vault.unlink("file", in: test.root)
        }
    }

    @Test func ofSeveralLinksThereIsNone() throws {
        let test = try TestVault()
        let file = try test.create("file")
        try test.vault.link("file", in: test.root, file: file, to: "other", in: test.root)
        #expect(try look("file", test).brief == nil)
        #expect(try look("other", test).brief == nil)
        try test.vault.unlink("other", in: test.root)
        #expect(try look("file", test).brief != nil, "one again")
    }

    /// Where Linux does not let an ordinary user set the attribute there is no summary, and no permissions are changed.
    @Test func noPermissionsAreLentForIt() throws {
        let test = try TestVault(isPrivileged: false, wrapping: { FaultInjectingStore($0) })
        let faults = try #require(test.store as? FaultInjectingStore).faults
        let file = try test.create("file")
        try file.write([1], at: 0)
        try file.setMode(0o400)
        let before = faults.count(of: .setMode)
        faults.fail(.setAttribute, with: .EACCES, lasts: true)
        #expect(try look("file", test).brief == nil)
        #expect(faults.injected > 0 && faults.count(of: .setMode) == before)
    }

    @Test func goesWithTheName() throws {
        let test = try TestVault()
        let folder = try test.makeDirectory("folder")
        let file = try test.create("file")
        try file.write([1], at: 0)
        try test.rename("file", to: "later", newParent: folder)
        try test.vault.checkpoint()
        let (vault, _) = try test.afterDeath()
        let found = try vault.lookupInBrief("later", in: try vault.openDirectory("folder", in: try vault.openRoot()))
        guard case .summarized = found else {
            Issue.record("it has none under its new name")
            return
        }
    }

    /// No file is opened or read for it.
    @Test func takesNoHeader() throws {
        let test = try TestVault(wrapping: { FaultInjectingStore($0) })
        let faults = try #require(test.store as? FaultInjectingStore).faults
        let file = try test.create("file")
        try file.write([1, 2, 3], at: 0)
        file.close()
        try test.vault.checkpoint()
        let (vault, root) = try test.afterDeath()
        faults.fail([.open, .read], with: .EIO, lasts: true)
        guard case .summarized(let status, _) = try vault.lookupInBrief("file", in: root) else {
            Issue.record("no summary")
            return
        }
        #expect(status.size == 3)
    }

    /// Another program changes the backing file or the attribute.
    @Test(arguments: ["size", "time", "fraction", "attribute", "name", "owner's bytes"])
    func isRefusedWhenTampered(_ what: String) throws {
        let test = try TestVault()
        let file = try test.create("file")
        try file.write([UInt8](repeating: 1, count: 100), at: 0)
        let other = try test.create("other")
        try other.write([UInt8](repeating: 2, count: 100), at: 0)
        #expect(try look("file", test).brief != nil)
        let descriptor = file.descriptor
        let own = try descriptor.status()
        func restamp(_ time: Timespec) throws { try descriptor.setTimes(accessed: .keep, modified: .at(time)) }
        var name: Name = "file"
        switch what {
        case "size":
            try descriptor.truncate(to: own.size - 1)
            try restamp(own.modified)
        case "time": try restamp(Timespec(seconds: own.modified.seconds - 2, nanoseconds: 0))
        case "fraction": try restamp(Timespec(seconds: own.modified.seconds, nanoseconds: 1))
        case "attribute":
            let value = try other.descriptor.attribute(FileSummary.attribute)
            try descriptor.setAttribute(FileSummary.attribute, to: value)
        case "name":
            let (from, to) = (
                try test.vault.storedName("file", in: test.root).name,
                try test.vault.storedName("other", in: test.root).name
            )
            try test.root.descriptor.rename(from, to: to, in: test.root.descriptor, flags: 0)
            name = "other"
        default:
            var value = try descriptor.attribute(FileSummary.attribute)
            value[20] ^= 1
            try descriptor.setAttribute(FileSummary.attribute, to: value)
        }
        let (vault, root) = try test.afterDeath()
        if case .summarized? = try? vault.lookupInBrief(name, in: root) { Issue.record("it is believed") }
    }
}
