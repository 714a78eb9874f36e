import Crypto
import Failure
import Format
import Glibc
import Posix

/// What this machine remembers of a vault's keybag, in a file beside the device key: the newest one that it has seen.
///
/// An older keybag, with its older passcode, is refused because of it; and it is put back in that one's place when the
/// owner says so. If the file is lost, of another key, or behind after a crash, an older keybag is not noticed, and no
/// keybag is refused because of that. An attacker who can write to the file can remove what is remembered, but cannot
/// forge it.
///
/// docs/FORMAT.md, "The keybag seen last".
struct KeybagMemory: Sendable {
    /// The suffix that makes its name out of the device key file's name.
    static let suffix = ".seen"
    /// The same for the file of marks: what is remembered of the vault's files.
    private static let marksSuffix = ".marks"

    let path: Path
    private let deviceKeyPath: Path

    /// - Parameter path: of the device key file. If it is a symbolic link, the file beside its target counts: one key
    ///   has one memory.
    init(besideDeviceKey path: Path) {
        deviceKeyPath = (try? path.resolved()) ?? path
        self.path = deviceKeyPath + Self.suffix
    }

    /// The file, and the temporary one that a killed program may leave.
    var paths: [Path] { Self.withTemporary(path) }

    /// The same of the file of marks.
    var marksPaths: [Path] { Self.withTemporary(Self.marks(besideDeviceKey: deviceKeyPath)) }

    private static func withTemporary(_ path: Path) -> [Path] {
        let split = path.split
        return [path, "\(split.folder)/.\(split.last).new"]
    }

    /// The file of marks of the vault with this device key file.
    static func marks(besideDeviceKey path: Path) -> Path { ((try? path.resolved()) ?? path) + marksSuffix }

    /// Whether the file has the bytes of this keybag. Nothing is authenticated.
    func holds(_ keybag: SealedKeybag?) -> Bool {
        guard let keybag, let file = try? Descriptor.open(path: path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW),
            (try? file.status().kind) == .regular
        else { return false }
        var bytes = [UInt8](repeating: 0, count: SeenKeybag.largest + 1)
        guard let count = try? file.read(into: &bytes, at: 0), count > SeenKeybag.tagByteCount else { return false }
        return SeenKeybag(decoding: Array(bytes[..<(count - SeenKeybag.tagByteCount)]))?.keybag == keybag.bytes
    }

    /// A keybag, and when this machine saw it first, in seconds since 1970.
    struct Seen: Sendable {
        let keybag: SealedKeybag
        let time: UInt64
    }

    /// Nil if nothing is remembered.
    ///
    /// - Throws: why what is remembered cannot be read now.
    func read(_ device: borrowing DeviceKey) throws(Errno) -> Seen? {
        let file: Descriptor
        do throws(Errno) { file = try Descriptor.open(path: path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW) } catch {
            guard [.ENOENT, .ENOTDIR, .ELOOP, .ENXIO].contains(error) else { throw error }
            return nil
        }
        guard try file.status().kind == .regular else { return nil }
        var bytes = [UInt8](repeating: 0, count: SeenKeybag.largest + 1)
        let count = try file.read(into: &bytes, at: 0)
        guard count > SeenKeybag.tagByteCount, count <= SeenKeybag.largest else { return nil }
        let contents = Array(bytes[..<(count - SeenKeybag.tagByteCount)])
        let tag = Array(bytes[(count - SeenKeybag.tagByteCount)..<count])
        guard let authenticator = try? device.memoryAuthenticator(),
            unsafe authenticator.verify(tag.span.bytes, of: contents.span.bytes),
            let seen = SeenKeybag(decoding: contents), seen.volume == device.volume,
            let keybag = try? SealedKeybag(decoding: seen.keybag), keybag.file.volume == device.volume
        else { return nil }
        return Seen(keybag: keybag, time: seen.time)
    }

    /// Replaces what is remembered, durably, if `isNewer` says so of what is there.
    func replace(
        by keybag: SealedKeybag, _ device: borrowing DeviceKey, if isNewer: (Seen?) -> Bool
    ) throws(Failure) {
        let split = path.split
        do throws(Errno) {
            guard let name = Name(bytes: split.last.bytes) else { throw .EINVAL }
            let folder = try Descriptor.open(path: split.folder, O_RDONLY | O_DIRECTORY)
            // Locked before the file is read: of two processes, the one with the older keybag must not come last.
            let temporary = try TemporaryKeyFile(for: name, in: folder)
            do throws(Errno) {
                guard isNewer(try read(device)) else { return temporary.remove(from: folder) }
                let seen = SeenKeybag(volume: device.volume, time: UInt64(max(time(nil), 0)), keybag: keybag.bytes)
                var bytes = seen.encodedWithoutTag
                guard let authenticator = try? device.memoryAuthenticator() else { throw .ENOMEM }
                bytes += unsafe authenticator.tag(of: bytes.span.bytes)
                try unsafe temporary.file.write(bytes.span.bytes, at: 0)
                if geteuid() == 0 { try giveToOwner(temporary.file) }
                try temporary.file.synchronize(dataOnly: false)
                try folder.rename(temporary.name, to: name, in: folder)
            } catch {
                temporary.remove(from: folder)
                throw error
            }
            try folder.synchronize(dataOnly: false)
        } catch { throw .io(error, doing: "writing \(path)") }
    }

    /// Root may work with another user's device key: that user must be able to read the file.
    private func giveToOwner(_ file: Descriptor) throws(Errno) {
        let key = try Descriptor.open(path: deviceKeyPath, O_PATH).status()
        try file.setOwner(user: key.owner, group: key.group)
    }
}

/// How a keybag compares with what this machine has seen.
enum KeybagAge {
    /// Nothing newer was seen.
    case newest
    /// A newer one was seen; or, in a conflict, another one of the same generation, which two machines have made apart
    /// from each other. `newest` is nil if only a chip's counter knows of it.
    case older(newest: KeybagMemory.Seen?, isConflict: Bool)
}

extension DeviceKey {
    /// The key that authenticates what this machine remembers of the keybag.
    func memoryAuthenticator() throws(CryptoError) -> MessageAuthenticator {
        try MessageAuthenticator(key: .derived(from: secret, salt: volume.bytes, info: Label.seenKeybag))
    }

    /// The lowest generation by a chip's count; 0 if no chip counts, or if it does not say. A chip may take its time.
    var counted: UInt64 { (try? counter?.lowest()) ?? 0 }

    /// - Parameter counted: what the chip has said.
    func age(of keybag: SealedKeybag, counted: UInt64) -> KeybagAge {
        let (seen, generation) = (remembered, keybag.file.generation)
        if let seen, seen.keybag.file.generation >= counted {
            let newest = seen.keybag.file.generation
            if generation > newest || seen.keybag.bytes == keybag.bytes { return .newest }
            return .older(newest: seen, isConflict: generation == newest)
        }
        return generation < counted ? .older(newest: nil, isConflict: false) : .newest
    }

    /// Throws `olderKeybag` unless nothing newer was seen.
    func refuseOlder(_ keybag: SealedKeybag, counted: UInt64) throws(Failure) {
        guard case .older(let newest, let isConflict) = age(of: keybag, counted: counted) else { return }
        throw .olderKeybag(seen: newest?.time, isConflict: isConflict)
    }

    /// The generation that a keybag must have at least to be the newest that this machine has seen; 0 if nothing is
    /// remembered.
    var newestGeneration: UInt64 { max(newestRemembered, counted) }

    /// The same without asking a chip.
    var newestRemembered: UInt64 { remembered?.keybag.file.generation ?? 0 }

    /// The newest keybag that this machine has seen, if it has the keys of this bundle.
    func newest(of bundle: borrowing Bundle, _ publicKey: [UInt8]) -> SealedKeybag? {
        guard let newest = remembered?.keybag, newest.file.publicKey == publicKey,
            (try? newest.verify(bundle)) != nil
        else { return nil }
        return newest
    }

    /// What cannot be read now counts as not remembered.
    private var remembered: KeybagMemory.Seen? {
        guard let memory else { return nil }
        return (try? memory.read(self)) ?? nil
    }

    /// Remembers a keybag whose unlock MAC was checked, or which this process has written. Otherwise a thief of the
    /// device key could make a keybag with the highest generation, after which every other one is refused.
    ///
    /// A failure does no harm: an older keybag is then not noticed.
    func remember(_ keybag: SealedKeybag) {
        let generation = keybag.file.generation
        guard let memory, remembered?.keybag.bytes != keybag.bytes else { return }
        try? memory.replace(by: keybag, self) { seen in
            guard let seen else { return true }
            return generation > seen.keybag.file.generation
        }
    }

    /// Has the chip count the generation of a keybag that this process has written, if the file has it: with the
    /// counter alone, nothing could take an older keybag's place. A chip may take its time, or not answer.
    func count(_ keybag: SealedKeybag) {
        let generation = keybag.file.generation
        guard let counter, remembered?.keybag.file.generation ?? 0 >= generation, let lowest = try? counter.lowest(),
            lowest < generation
        else { return }
        if generation - lowest > type(of: counter).mostSteps {
            try? counter.restart(at: generation)
        } else {
            try? counter.raise(to: generation)
        }
    }
}
