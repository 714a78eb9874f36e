import Crypto
public import Failure
public import Format
import Glibc
import Posix
public import Store

/// Makes a vault unreadable by destroying what releases its keys, whatever the vault's size: first the device key, then
/// the keybag with all slots.
///
/// Each file is overwritten, flushed and removed. A disk that does not overwrite in place (flash, copy on write) may
/// keep the old bytes; if one of the two files is destroyed, the other alone is still useless.
public struct KeyDestruction: Sendable {
    public enum DeviceKeyFate: String, Hashable, Sendable {
        case destroyed
        /// The file does not exist.
        case missing
        /// The file is not a device key, or belongs to another vault. It is unchanged.
        case foreign
        /// The error is in `failure`.
        case failed
    }

    /// Nil if the location is unknown.
    public private(set) var deviceKey: DeviceKeyFate?
    /// The first error; the other steps were still tried.
    public private(set) var failure: Failure?

    /// Destroys all that it can.
    ///
    /// - Parameters:
    ///   - deviceKeyPath: the file of the device key; nil if its location is unknown.
    ///   - volume: the vault that the device key must belong to; nil if the keybag cannot be read any more.
    ///   - keepingCount: keeps the count of wrong passcodes.
    public init(
        deviceKeyPath: String?, volume: VolumeIdentifier?, keybagIn store: any Store, keepingCount: Bool = false
    ) {
        if let deviceKeyPath {
            deviceKey = destroyDeviceKey(deviceKeyPath, volume)
        }
        for name in [KeybagStorage.current, KeybagStorage.previous, KeybagStorage.pending] {
            trying { () throws(Failure) in try Self.destroy(name, in: store) }
        }
        trying { () throws(Failure) in
            try io("making it durable", try store.synchronize(store.root, dataOnly: false))
        }
        // Last, and only if the device key is destroyed: otherwise a passcode could be tried without being counted.
        if let deviceKeyPath, deviceKey == .destroyed, !keepingCount {
            _ = unsafe unlink(deviceKeyPath + GuessCounter.suffix)
        }
    }

    /// Throws unless the file is this vault's device key, or does not exist.
    ///
    /// - Throws: `notADeviceKey`, `deviceKeyMismatch`, `io`.
    public static func check(deviceKeyPath path: String, volume: VolumeIdentifier?) throws(Failure) {
        let owner: VolumeIdentifier?
        do throws(Errno) {
            owner = try DeviceKeyFile.owner(of: Descriptor.open(path: path, O_RDONLY | O_NONBLOCK))
        } catch {
            if error == .ENOENT { return }
            throw .io(error, doing: "reading the device key file \(path)")
        }
        guard let owner else { throw .notADeviceKey(path: path) }
        guard volume == nil || owner == volume else { throw .deviceKeyMismatch }
    }

    private mutating func trying(_ body: () throws(Failure) -> Void) {
        do throws(Failure) { try body() } catch { failure = failure ?? error }
    }

    /// Also destroys the temporary file of a killed program.
    private mutating func destroyDeviceKey(_ path: String, _ volume: VolumeIdentifier?) -> DeviceKeyFate {
        // The path may be a symbolic link: its target is destroyed too.
        let target = unsafe realpath(path, nil)
        defer { unsafe free(target) }
        let location = unsafe target.map { unsafe String(cString: $0) } ?? path
        var fate = DeviceKeyFate.failed
        trying { () throws(Failure) in
            DeviceKeyFile.removeOrphan(of: location)
            do throws(Failure) { try Self.check(deviceKeyPath: location, volume: volume) } catch {
                guard case .io = error else {
                    fate = .foreign
                    return
                }
                // A file that cannot be read may still be removable, below.
            }
            fate = try Self.destroy(location) ? .destroyed : .missing
        }
        if fate == .destroyed, location != path { _ = unsafe unlink(path) }
        return fate
    }

    /// False if the file does not exist.
    private static func destroy(_ path: String) throws(Failure) -> Bool {
        let doing = "destroying \(path)"
        do throws(Errno) {
            let file = try Descriptor.open(path: path, O_RDWR | O_NOFOLLOW | O_NONBLOCK)
            for round in 0..<2 {
                let bytes = noise(Int(try file.status().size), round: round)
                try unsafe file.write(bytes.span.bytes, at: 0)
                try file.synchronize(dataOnly: false)
            }
        } catch {
            if error == .ENOENT { return false }
            // A file that cannot be overwritten may still be removable.
            guard unsafe unlink(path) == 0 else { throw .io(error, doing: doing) }
            return true
        }
        guard unsafe unlink(path) == 0 else { throw .io(Errno.current, doing: doing) }
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        if let folder = try? Descriptor.open(path: folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY) {
            try io(doing, try folder.synchronize(dataOnly: false))
        }
        return true
    }

    private static func destroy(_ name: Name, in store: any Store) throws(Failure) {
        let doing = "destroying \(name)"
        do throws(Errno) {
            let file = try store.open(name, in: store.root, O_RDWR | O_NONBLOCK)
            let status = try store.status(of: file)
            // Otherwise it is only removed, not overwritten: another user's file or device may have been put under this
            // name.
            let isOurs = status.linkCount == 1 ? true : try isKeybag(file, in: store)
            guard status.kind == .regular, isOurs else { throw .EPERM }
            for round in 0..<2 {
                let bytes = noise(Int(status.size), round: round)
                try unsafe store.write(bytes.span.bytes, to: file, at: 0)
                try store.synchronize(file, dataOnly: false)
            }
        } catch {
            if error == .ENOENT { return }
            guard (try? store.unlink(name, in: store.root)) != nil else { throw .io(error, doing: doing) }
            return
        }
        try io(doing, try store.unlink(name, in: store.root))
    }

    private static func isKeybag(_ file: Descriptor, in store: any Store) throws(Errno) -> Bool {
        var start = [UInt8](repeating: 0, count: KeybagFile.magic.count)
        var elements = start.mutableSpan
        var buffer = unsafe elements.mutableBytes
        _ = try store.read(file, into: &buffer, at: 0)
        return start == KeybagFile.magic
    }

    /// First random bytes, then zeros. A file that is longer than any keybag is overwritten only up to that size.
    private static func noise(_ count: Int, round: Int) -> [UInt8] {
        let count = min(max(count, 0), KeybagFile.largest)
        return round == 0 ? Random.bytes(count) : [UInt8](repeating: 0, count: count)
    }
}

extension OpenKeybag {
    /// Destroys this keybag and the device key, also if the store is read-only for everything else. After that, no
    /// change of the keybag succeeds.
    public func destroy(deviceKeyPath: String) -> KeyDestruction {
        destroy(deviceKeyPath: deviceKeyPath, keepingCount: false)
    }

    func destroy(deviceKeyPath: String, keepingCount: Bool) -> KeyDestruction {
        sealed.withLock { _ in
            isDestroyed.store(true, ordering: .relaxed)
            return KeyDestruction(
                deviceKeyPath: deviceKeyPath, volume: volume, keybagIn: storage.store, keepingCount: keepingCount)
        }
    }
}
