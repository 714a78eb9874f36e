import Crypto
import Failure
import Format
import Glibc
import Posix

/// What this machine remembers of the newest keybag of a vault, in a file beside the device key: an older keybag with
/// an older passcode is refused.
///
/// It is a lower bound. If the file is lost, of another key, or behind after a crash, an older keybag is not noticed;
/// no keybag is refused because of that. Who can write to the file can make it be forgotten, but cannot forge it.
///
/// docs/FORMAT.md, "The keybag seen last".
struct KeybagMemory: Sendable {
    /// The suffix that makes its name out of the device key file's name.
    static let suffix = ".seen"

    let path: Path

    init(besideDeviceKey path: Path) { self.path = path + Self.suffix }

    /// Nil if nothing is remembered.
    func read(_ device: borrowing DeviceKey) -> SeenKeybag? {
        guard let file = try? Descriptor.open(path: path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW),
            (try? file.status().kind) == .regular
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: SeenKeybag.largest + 1)
        let count: Int?
        do {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            count = try? file.read(into: &span, at: 0)
        }
        guard let count, count > SeenKeybag.tagByteCount, count <= SeenKeybag.largest else { return nil }
        let contents = Array(bytes[..<(count - SeenKeybag.tagByteCount)])
        let tag = Array(bytes[(count - SeenKeybag.tagByteCount)..<count])
        guard let authenticator = try? device.memoryAuthenticator(),
            unsafe authenticator.verify(tag.span.bytes, of: contents.span.bytes),
            let seen = SeenKeybag(decoding: contents), seen.volume == device.volume
        else { return nil }
        return seen
    }

    /// Replaces the file, durably.
    func write(_ seen: SeenKeybag, _ device: borrowing DeviceKey) throws(Failure) {
        let doing: Printable = "writing \(path)"
        var bytes = seen.encodedWithoutTag
        bytes += unsafe try crypto(try device.memoryAuthenticator()).tag(of: bytes.span.bytes)
        let split = path.split
        do throws(Errno) {
            guard let name = Name(bytes: split.last.bytes), let temporary = TemporaryKeyFile.name(for: name) else {
                throw .ENAMETOOLONG
            }
            let folder = try Descriptor.open(path: split.folder, O_RDONLY | O_DIRECTORY)
            let file = try TemporaryKeyFile(for: name, in: folder)
            do throws(Errno) {
                try unsafe file.file.write(bytes.span.bytes, at: 0)
                try file.file.synchronize(dataOnly: false)
                try folder.rename(temporary, to: name, in: folder)
            } catch {
                file.remove(from: folder)
                throw error
            }
            try folder.synchronize(dataOnly: false)
        } catch { throw .io(error, doing: doing) }
    }
}

extension DeviceKey {
    /// The key that authenticates what this machine remembers of the keybag.
    func memoryAuthenticator() throws(CryptoError) -> MessageAuthenticator {
        try MessageAuthenticator(key: .derived(from: secret, salt: volume.bytes, info: Label.seenKeybag))
    }

    /// The lowest generation that a keybag may have; 0 if nothing is remembered.
    var lowestGeneration: (lowest: UInt64, seen: SeenKeybag?) {
        let seen = memory?.read(self)
        return (seen?.generation ?? 0, seen)
    }

    /// Remembers a keybag whose unlock MAC was checked, or which this process has written: with the device key alone,
    /// a thief of it could have made a keybag with the highest generation, after which every other is refused.
    ///
    /// A failure does no harm: an older keybag is then not noticed.
    func remember(_ keybag: borrowing KeybagFile) {
        guard let memory else { return }
        let slots = keybag.slotDigests
        let seen = memory.read(self)
        guard keybag.generation >= seen?.generation ?? 0 else { return }
        guard keybag.generation != seen?.generation || slots != seen?.slots else { return }
        let now = UInt64(max(time(nil), 0))
        try? memory.write(
            SeenKeybag(volume: volume, generation: keybag.generation, time: now, slots: slots), self)
    }
}

extension KeybagFile {
    /// Of each slot, so that a slot of an older keybag can be compared with those of the newest.
    var slotDigests: [[UInt8]] { slots.map(\.digest) }
}

extension KeybagSlot {
    var digest: [UInt8] { Array(unsafe sha256(record.span.bytes).prefix(SeenKeybag.digestByteCount)) }
}
