import CrashSimulator
import Crypto
import Format
import Glibc
import Keybag
import Posix
import Store
import TestStores
import Testing
import Vault

extension CrashTests {
    /// A vault becomes a synchronised one: at each moment it opens, with all directories and files.
    @Suite struct Synchronised {
        @Test(arguments: SimulatedDisk.Order.allCases) func wayUp(order: SimulatedDisk.Order) throws {
            let folder = try StateFolder()
            let keys = try VaultKeys(in: folder)
            let store = try RecordingStore(DirectoryStore(path: Path(folder.path)))
            let session = try Session(keys, store)
            try session.fill()
            // Its daemon was killed.
            session.vault.abandon()
            let begin = store.recorder.count
            try Session.makeSynchronised(keys, store)
            let isDone = store.recorder.count
            print("crash: synchronised: \(begin) + \(isDone - begin) records")

            var states = 0
            var links = 0
            let report = try Simulation("synchronised", order, budget: budget(140)).run(
                store.recorder.records, found: begin
            ) { state, crash in
                states += 1
                do {
                    let store = try DirectoryStore(path: Path(state.path))
                    let found = try Session(keys, store)
                    if crash == isDone, !found.keybag.file.isSynchronised {
                        return [Violation(.names, "it was made synchronised, and is not")]
                    }
                    if found.keybag.file.isSynchronised, try found.vault.hasRecordLinks() { links += 1 }
                    let wrong = found.wrong()
                    found.vault.abandon()
                    guard wrong.isEmpty, states % 3 == 0 else { return wrong }
                    try Session.makeSynchronised(keys, store)
                    let again = try Session(keys, store)
                    defer { again.vault.abandon() }
                    if try again.vault.hasRecordLinks() { return [Violation(.names, "a record is a link")] }
                    return again.wrong()
                } catch { return [Violation(.closed, "\(error)")] }
            }
            print("crash: synchronised: \(links) of \(states) states with links left")
            #expect(links > 0)
            expectNone(report, "synchronised", order)
        }
    }
}

/// A vault in use, of either kind.
private struct Session {
    let keybag: OpenKeybag
    let vault: Vault
    let root: Directory

    init(_ keys: VaultKeys, _ store: any Store) throws {
        keybag = try keys.keybag(in: store)
        keybag.ring.install(try keybag.unlock(passcode: VaultKeys.passcode()))
        vault = Self.vault(keybag, store)
        root = try vault.openRoot()
    }

    private static func vault(_ keybag: OpenKeybag, _ store: any Store) -> Vault {
        let isInFiles = keybag.settings.directoryRecords == .file
        return Vault(
            store: store, keys: keybag.keys, ring: keybag.ring,
            traits: StoreTraits(nameMax: 255, recordKind: isInFiles ? .file : .symbolicLink), isReadOnly: false,
            journalSize: .smallest, machine: keybag.machine)
    }

    /// What `latchkey synchronise` does.
    static func makeSynchronised(_ keys: VaultKeys, _ store: any Store) throws {
        let keybag = try keys.keybag(in: store)
        if !keybag.file.isSynchronised {
            let before = vault(keybag, store)
            _ = try before.openRoot()
            try before.close()
            try keybag.becomeSynchronised(opening: Credential(.passcode, reading: VaultKeys.passcode())) {}
        }
        let vault = vault(keybag, store)
        _ = try vault.openRoot()
        try vault.removeEarlierJournal()
        _ = try vault.makeRecordsFiles()
        try vault.close()
    }

    private static let folders = 5
    private static func name(_ text: String) -> Name { Name(bytes: Array(text.utf8))! }
    private static let owner = Ownership(mode: 0o755, user: getuid(), group: getgid())
    private static func contents(_ number: Int, _ isAgain: Bool) -> [UInt8] {
        [UInt8](repeating: UInt8(number + (isAgain ? 100 : 1)), count: 1500 * (number + 1))
    }

    /// Folders, each in the one before it, with a file in each. Every other file has its last version in the journal
    /// alone.
    func fill() throws {
        var folder = root
        var files: [File] = []
        for number in 0..<Self.folders {
            try vault.makeDirectory(Self.name("d\(number)"), in: folder, Self.owner)
            folder = try vault.openDirectory(Self.name("d\(number)"), in: folder)
            let file = try vault.createFile(
                Self.name("f\(number)"), in: folder, Self.owner, ProtectionClass.allCases[number % 4])
            try unsafe file.write(Self.contents(number, false).span.bytes, at: 0)
            files.append(file)
        }
        try vault.synchronize()
        for (number, file) in files.enumerated() where number % 2 == 1 {
            try unsafe file.write(Self.contents(number, true).span.bytes, at: 0)
            try file.synchronize(dataOnly: true)
        }
    }

    /// Files that do not read as they must.
    func wrong() -> [Violation] {
        var folder = root
        for number in 0..<Self.folders {
            let wanted = Self.contents(number, number % 2 == 1)
            do {
                folder = try vault.openDirectory(Self.name("d\(number)"), in: folder)
                let file = try vault.openFile(Self.name("f\(number)"), in: folder)
                var bytes = [UInt8](repeating: 0, count: wanted.count + 1)
                let count = try read(file, &bytes)
                guard Array(bytes.prefix(count)) == wanted else {
                    return [Violation(.contents, "f\(number) reads otherwise")]
                }
            } catch { return [Violation(.contents, "f\(number): \(error)")] }
        }
        return []
    }

    private func read(_ file: File, _ bytes: inout [UInt8]) throws -> Int {
        var elements = bytes.mutableSpan
        var span = unsafe elements.mutableBytes
        return try file.read(into: &span, at: 0)
    }
}
