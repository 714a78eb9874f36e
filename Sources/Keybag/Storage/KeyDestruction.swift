import Crypto
public import Failure
public import Format
import Glibc
import Posix
public import Store

/// Makes a vault unreadable by destroying what releases its keys, whatever its size: first this machine's share, then
/// the keybag with every way in.
///
/// Each is written over, made durable, and removed. A disk that writes elsewhere than it is told (flash, copy on write)
/// may keep what was there; then one share alone is of no use still.
public struct KeyDestruction: Sendable {
    public enum DeviceKeyFate: String, Hashable, Sendable {
        case destroyed
        /// There is no file.
        case missing
        /// There is a file, and it is no device key, or another vault's. It is as it was.
        case foreign
        /// See `failure`.
        case failed
    }

    /// Nil where nobody knows where it could be.
    public private(set) var deviceKey: DeviceKeyFate?
    /// The first, after all else has been tried.
    public private(set) var failure: Failure?

    /// Destroys all that it can.
    ///
    /// - Parameters:
    ///   - deviceKeyPath: where the device key lies, if it does; nil where nobody knows.
    ///   - volume: whose device key it has to be; nil where the keybag does not tell any more.
    ///   - keepingCount: leaves the wrong passcodes counted.
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
        // Last, and not where a key is left that a passcode may open: else nobody would count any more.
        if let deviceKeyPath, deviceKey == .destroyed, !keepingCount {
            _ = unsafe unlink(deviceKeyPath + GuessCounter.suffix)
        }
    }

    /// Throws unless a file is this vault's device key, or nothing.
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

    /// What a killed program has left of it, too.
    private mutating func destroyDeviceKey(_ path: String, _ volume: VolumeIdentifier?) -> DeviceKeyFate {
        // A link may lead to it, and it is to go from where it is.
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
                // What cannot be read may be removed still, below.
            }
            fate = try Self.destroy(location) ? .destroyed : .missing
        }
        if fate == .destroyed, location != path { _ = unsafe unlink(path) }
        return fate
    }

    /// False if there was none.
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
            // What cannot be written over can be removed, perhaps.
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
            // Else it is removed only: what stands there is somebody else's file or device, under a name of ours.
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

    /// Random first, then zeros. What is longer than a key's file can be was somebody else's.
    private static func noise(_ count: Int, round: Int) -> [UInt8] {
        let count = min(max(count, 0), KeybagFile.largest)
        return round == 0 ? Random.bytes(count) : [UInt8](repeating: 0, count: count)
    }
}

extension OpenKeybag {
    /// Destroys this keybag and the device key, whether or not the store may be written to for anything else. No change
    /// of it comes after that.
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
