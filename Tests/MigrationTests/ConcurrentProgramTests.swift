import Foundation
import Posix
import Store
import TestStores
import TestSupport
import Testing

@testable import Migration

extension MigrationTests {
    /// A program changes a file at the worst moment: its copy is made, compared and named, and the original is about to
    /// be taken away. What the program has written counts.
    @Suite struct ConcurrentPrograms {
        @Test(arguments: [
            // An editor that saves by renaming.
            ("echo newest > new; touch -d '2020-02-02 02:02:02' new; mv new doc", "newest"),
            ("mv doc doc~; echo newest > doc", "newest"),
            ("cp -p doc new; echo longer, newest >> new; mv new doc", "original\nlonger, newest"),
            ("chmod 600 doc", "original"), ("setfattr -n user.late -v yes doc", "original"),
            ("ln doc other", "original"), ("mv doc elsewhere", nil), ("rm doc", nil),
        ])
        func aFile(act: String, contents: String?) throws {
            let folder = try Self.folder("echo original > doc; touch -d '2020-02-02 02:02:02' doc", actingBy: act)
            #expect(try !folder.migrate(.protect).isComplete || contents == nil)
            let after = try Self.settled(folder)
            let expected = try shell("ls -A \(folder.path)").text
            #expect(expected.isEmpty)
            #expect(try folder.text(of: "doc") == contents.map { $0 + "\n" })
            if act.contains("doc~") { #expect(try folder.text(of: "doc~") == "original\n") }
            if act.contains("elsewhere") { #expect(try folder.text(of: "elsewhere") == "original\n") }
            if act.contains("chmod") { #expect(after.entries[Array("doc".utf8)]?.metadata.permissions == 0o600) }
            if act.contains("setfattr") { #expect(after.entries[Array("doc".utf8)]?.metadata.attributes.count == 1) }
            if act.hasPrefix("ln") { #expect(after.entries[Array("other".utf8)]?.first == Array("doc".utf8)) }
        }

        @Test func aLinkThatBecomesAFile() throws {
            let folder = try Self.folder("ln -s target link", actingBy: "rm link; echo a file now > link")
            _ = try folder.migrate(.protect)
            _ = try Self.settled(folder)
            #expect(try folder.text(of: "link") == "a file now\n")
        }

        /// The kernel makes a program wait that opens the file to write, until it has its name back.
        @Test func aProgramThatOpensTheFile() throws {
            let folder = try Self.folder(
                "echo original > doc", actingBy: "(echo more >> doc) > /dev/null 2>&1 & sleep 0.2")
            #expect(try !folder.migrate(.protect).isComplete)
            let end = ContinuousClock.now + .seconds(20)
            while try shell("cat doc", in: folder.path).text != "original\nmore\n" {
                guard ContinuousClock.now < end else { throw HarnessError("the program has not written") }
                usleep(10_000)
            }
            _ = try Self.settled(folder)
            #expect(try folder.text(of: "doc") == "original\nmore\n")
        }

        /// It is there before the folder is closed, and is moved by the next run.
        @Test func aNewFile() throws {
            let folder = try Self.folder("mkdir a; echo original > a/doc", actingBy: "echo new > a/new")
            #expect(try !folder.migrate(.protect).isComplete)
            _ = try Self.settled(folder)
            #expect(try folder.text(of: "a/new") == "new\n")
            #expect(try folder.text(of: "a/doc") == "original\n")
        }

        /// The run has ended between the last look at the original and its removal; a program that has it open then
        /// changes its metadata.
        @Test(arguments: ["chmod 600", "touch -d 2021-01-01", "setfattr -n user.late -v yes", "true"])
        func afterAnInterruption(act: String) throws {
            let folder = try MigratedFolder("echo original > doc; touch -d '2020-02-02 02:02:02' doc")
            folder.store = InterceptingStore(folder.store, hook: KeepingHook(), keepsMetadataOrder: true)
            #expect(throws: MigrationError.self) { try folder.migrate(.protect) }
            let path = folder.place.path + "/.Documents.latchkey/removed"
            try shell("\(act) * && stat -c %n *", in: path)
            let expected = try MigratedFolder("echo original > doc; touch -d '2020-02-02 02:02:02' doc; \(act) doc")
            let wanted = try expected.snapshotOfFolder().withoutTimes
            #expect(try Self.settled(folder).withoutTimes.differences(from: wanted).isEmpty)
            #expect(folder.events.isEmpty == (act == "true"), "\(folder.events)")
        }

        private static func folder(_ make: String, actingBy act: String) throws -> MigratedFolder {
            let folder = try MigratedFolder(make)
            let path = folder.path
            folder.store = InterceptingStore(
                folder.store, hook: ActingHook { _ = try? shell(act, in: path) }, keepsMetadataOrder: true)
            return folder
        }

        /// Runs again until all is moved: at most three times.
        private static func settled(_ folder: MigratedFolder) throws -> Snapshot {
            folder.store = try DirectoryStore(path: Path(folder.place.path))
            for _ in 0..<3 where try folder.migrate(.protect).isComplete { return try folder.snapshotOfVault() }
            throw HarnessError("not complete: \(folder.events)")
        }
    }
}

/// Acts once, when names are made durable after a copy has got its own.
private final class ActingHook: Interceptor {
    private let act: @Sendable () -> Void
    private let state = State()

    final class State: @unchecked Sendable {  // unchecked: one thread gives names and flushes all
        var isNamed = false
        var isDone = false
    }

    init(_ act: @escaping @Sendable () -> Void) { self.act = act }

    func intercept<Result>(
        _ operation: TestStores.Operation, on store: any Store, _ proceed: () throws(Posix.Errno) -> Result
    ) throws(Posix.Errno) -> Result {
        let result = try proceed()
        switch operation {
        case .change(.rename), .change(.makeSymbolicLink): state.isNamed = true
        case .change(.synchronizeAll) where state.isNamed && !state.isDone:
            state.isDone = true
            act()
        default: break
        }
        return result
    }
}

/// Lets no original be removed.
private final class KeepingHook: Interceptor {
    func intercept<Result>(
        _ operation: TestStores.Operation, on store: any Store, _ proceed: () throws(Posix.Errno) -> Result
    ) throws(Posix.Errno) -> Result {
        if case .change(.unlink(_, in: let folder)) = operation,
            try store.path(of: folder).suffix(8).elementsEqual("/removed".utf8)
        {
            throw .EIO
        }
        return try proceed()
    }
}

extension MigratedFolder {
    /// The contents of a file in the vault; nil if there is none.
    func text(of path: String) throws -> String? {
        let tree = try VaultTree(try vault())
        defer { try? tree.vault.close() }
        var folder = tree.root
        let names = path.split(separator: "/").map { Name(bytes: $0.utf8)! }
        for name in names.dropLast() { folder = try tree.openFolder(name, in: folder) }
        guard let status = try tree.find(names[names.count - 1], in: folder) else { return nil }
        let file = try tree.open(names[names.count - 1], in: folder)
        var bytes = [UInt8](repeating: 0, count: Int(status.size))
        var elements = bytes.mutableSpan
        var span = unsafe elements.mutableBytes
        _ = try tree.read(file, into: &span, at: 0)
        return String(decoding: bytes, as: UTF8.self)
    }
}
