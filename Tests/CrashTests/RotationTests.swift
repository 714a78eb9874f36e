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
    /// New class keys are made and all files get them: at each moment the vault opens, and each file in it.
    @Suite struct NewKeys {
        @Test(arguments: SimulatedDisk.Order.allCases) func rotation(order: SimulatedDisk.Order) throws {
            let folder = try StateFolder()
            let keys = try VaultKeys(in: folder)
            let store = try RecordingStore(DirectoryStore(path: Path(folder.path)))
            let session = try Session(keys, store)
            try session.fill()
            let begin = store.recorder.count
            try session.keybag.beginRotation(
                opening: Credential(.passcode, reading: VaultKeys.passcode()), recoveryKey: nil, dropping: [2])
            let isBegun = store.recorder.count
            try session.finish()
            #expect(!session.keybag.isRotating)
            let isFinished = store.recorder.count
            session.vault.abandon()
            print("crash: new keys: \(begin) + \(isBegun - begin) + \(isFinished - isBegun) records")

            var states = 0
            let report = try Simulation("new keys", order, budget: budget(140)).run(
                store.recorder.records, found: begin
            ) { state, crash in
                states += 1
                do {
                    let found = try Session(keys, DirectoryStore(path: Path(state.path)))
                    defer { found.vault.abandon() }
                    if crash == isFinished, found.keybag.isRotating {
                        return [Violation(.names, "it was finished, and is not")]
                    }
                    let wrong = try found.wrong()
                    guard wrong.isEmpty, states % 3 == 0 else { return wrong }
                    // The rotation goes on from there.
                    try found.finish()
                    return try found.wrong()
                } catch { return [Violation(.closed, "\(error)")] }
            }
            expectNone(report, "new keys", order)
        }
    }
}

/// A vault in use, with its class keys.
private struct Session {
    let keybag: OpenKeybag
    let vault: Vault
    let root: Directory

    init(_ keys: VaultKeys, _ store: any Store) throws {
        keybag = try keys.keybag(in: store)
        keybag.ring.install(try keybag.unlock(passcode: VaultKeys.passcode()))
        vault = Vault(
            store: store, keys: keybag.keys, ring: keybag.ring,
            traits: StoreTraits(nameMax: 255, recordKind: .symbolicLink), isReadOnly: false,
            journalSize: .smallest)
        root = try vault.openRoot()
    }

    private static func name(_ number: Int) -> Name { Name(bytes: Array("f\(number)".utf8))! }
    private static func contents(_ number: Int, _ isAgain: Bool) -> [UInt8] {
        [UInt8](repeating: UInt8(number + (isAgain ? 100 : 1)), count: 1500 * number)
    }

    /// Files of all classes; everything is durable. Every other file has its last version in the journal alone.
    func fill() throws {
        var files: [File] = []
        let owner = Ownership(mode: 0o644, user: getuid(), group: getgid())
        for number in 0..<8 {
            let file = try vault.createFile(Self.name(number), in: root, owner, ProtectionClass.allCases[number % 4])
            try unsafe file.write(Self.contents(number, false).span.bytes, at: 0)
            files.append(file)
        }
        try vault.synchronize()
        for (number, file) in files.enumerated() where number % 2 == 1 {
            try unsafe file.write(Self.contents(number, true).span.bytes, at: 0)
            try file.synchronize(dataOnly: true)
        }
    }

    /// Gives the new keys to all files that do not have them yet.
    func finish() throws {
        guard keybag.isRotating else { return }
        let rotation = KeyRotation(of: vault, tree: ReadWriteLock(), isStopped: { false })
        for _ in 0..<5 {
            switch rotation.walk() {
            case .clean:
                try rotation.makeDurable()
                guard try keybag.finishRotation() else { throw VaultError.locked }
                return
            case .unproven: continue
            case .failed, .interrupted: throw VaultError.damaged("\(rotation.progress)")
            }
        }
        throw VaultError.damaged("it does not end")
    }

    /// Files that do not read as they must.
    func wrong() throws -> [Violation] {
        var wrong: [Violation] = []
        for number in 0..<8 {
            let wanted = Self.contents(number, number % 2 == 1)
            do {
                let file = try vault.openFile(Self.name(number), in: root)
                var bytes = [UInt8](repeating: 0, count: wanted.count + 1)
                let count = try read(file, &bytes)
                if Array(bytes.prefix(count)) != wanted {
                    wrong.append(Violation(.contents, "f\(number) reads otherwise"))
                }
            } catch { wrong.append(Violation(.contents, "f\(number): \(error)")) }
        }
        return wrong
    }

    private func read(_ file: File, _ bytes: inout [UInt8]) throws -> Int {
        var elements = bytes.mutableSpan
        var span = unsafe elements.mutableBytes
        return try file.read(into: &span, at: 0)
    }
}
