import Crypto
public import Failure
public import Format
import Glibc
public import Posix
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
    ///   - keptDeviceKeyPath: the file of a device key that is kept.
    ///   - volume: the vault that the device key must belong to; nil if the keybag cannot be read any more.
    ///   - keepingCount: keeps the count of wrong passcodes.
    ///   - sparingLinks: only removes a keybag that has other names, and writes nothing over it: another name may be
    ///     the keybag of a copy of the vault.
    public init(
        deviceKeyPath: Path?, keptDeviceKeyPath: Path? = nil, volume: VolumeIdentifier?,
        keybagIn store: any Store, keepingCount: Bool = false, sparingLinks: Bool = true
    ) {
        // Before the device key is destroyed, which may be a symbolic link.
        let memory = (deviceKeyPath ?? keptDeviceKeyPath).map { KeybagMemory(besideDeviceKey: $0) }
        let remembers = memory?.holds(try? KeybagStorage(store: store).read(KeybagStorage.current)) ?? false
        if let deviceKeyPath {
            deviceKey = destroyDeviceKey(deviceKeyPath, volume)
        }
        for name in [KeybagStorage.current, KeybagStorage.previous, KeybagStorage.pending] {
            trying { () throws(Failure) in try Self.destroy(name, in: store, sparingLinks) }
        }
        // What was seen last is a keybag too. If the device key is kept, other copies of the vault may need it, but not
        // if it is the destroyed keybag.
        if let memory, deviceKeyPath == nil ? remembers : deviceKey != .foreign {
            for path in memory.paths {
                trying { () throws(Failure) in _ = try Self.destroy(path) }
            }
        }
        if let memory, deviceKeyPath != nil, deviceKey != .foreign {
            // Its key goes with the keybag: what is in it need not be overwritten.
            for path in memory.marksPaths where path.unlink() != 0 && Errno.current != .ENOENT {
                let error = Errno.current
                trying { () throws(Failure) in throw .io(error, doing: "removing \(path)") }
            }
        }
        // Without it the vault is as erased as with it.
        if failure == nil { try? KeybagStorage(store: store).stateErasure() }
        trying { () throws(Failure) in
            try io("making it durable", try store.synchronize(store.root, dataOnly: false))
        }
        // Last, and only if the device key is destroyed: otherwise a passcode could be tried without being counted.
        if let deviceKeyPath, deviceKey == .destroyed, !keepingCount {
            _ = (deviceKeyPath + GuessCounter.suffix).unlink()
        }
    }

    /// Throws unless the file is this vault's device key, or does not exist.
    ///
    /// - Throws: `notADeviceKey`, `deviceKeyMismatch`, `io`.
    public static func check(deviceKeyPath path: Path, volume: VolumeIdentifier?) throws(Failure) {
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

    /// The vault that a device key belongs to; nil if the file does not exist.
    ///
    /// - Throws: `notADeviceKey`, `io`.
    public static func owner(ofDeviceKeyAt path: Path) throws(Failure) -> VolumeIdentifier? {
        let owner: VolumeIdentifier?
        do throws(Errno) {
            owner = try DeviceKeyFile.owner(of: Descriptor.open(path: path, O_RDONLY | O_NONBLOCK))
        } catch {
            if error == .ENOENT { return nil }
            throw .io(error, doing: "reading the device key file \(path)")
        }
        guard let owner else { throw .notADeviceKey(path: path) }
        return owner
    }

    /// `failure` in words; nil if all was destroyed.
    public var reason: Printable? {
        failure.map { failure in
            if case .io(let errno, let doing) = failure { "\(doing): \(errno)" } else { "\(failure)" }
        }
    }

    private mutating func trying(_ body: () throws(Failure) -> Void) {
        do throws(Failure) { try body() } catch { failure = failure ?? error }
    }

    /// Also destroys the temporary file of a killed program.
    private mutating func destroyDeviceKey(_ path: Path, _ volume: VolumeIdentifier?) -> DeviceKeyFate {
        // The path may be a symbolic link: its target is destroyed too.
        let location = (try? path.resolved()) ?? path
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
        if fate == .destroyed, location != path { _ = path.unlink() }
        return fate
    }

    /// False if the file does not exist.
    private static func destroy(_ path: Path) throws(Failure) -> Bool {
        let doing: Printable = "destroying \(path)"
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
            guard path.unlink() == 0 else { throw .io(error, doing: doing) }
            return true
        }
        guard path.unlink() == 0 else { throw .io(Errno.current, doing: doing) }
        if let folder = try? Descriptor.open(path: path.split.folder, O_RDONLY | O_DIRECTORY) {
            try io(doing, try folder.synchronize(dataOnly: false))
        }
        return true
    }

    private static func destroy(_ name: Name, in store: any Store, _ sparingLinks: Bool) throws(Failure) {
        let doing: Printable = "destroying \(name)"
        do throws(Errno) {
            let file = try store.open(name, in: store.root, O_RDWR | O_NONBLOCK)
            let status = try store.status(of: file)
            // Otherwise it is only removed, not overwritten: another user's file or device may have been put under this
            // name.
            let isOurs = status.linkCount == 1 ? true : sparingLinks ? false : try isKeybag(file, in: store)
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
    ///
    /// - Parameter deviceKeyPath: nil to keep the device key.
    public func destroy(deviceKeyPath: Path?) -> KeyDestruction {
        destroy(deviceKeyPath: deviceKeyPath, keepingCount: false, sparingLinks: true)
    }

    /// After the last allowed guess: the count stays, and every name of the keybag loses its contents.
    func destroyAfterGuesses(deviceKeyPath: Path) -> KeyDestruction {
        destroy(deviceKeyPath: deviceKeyPath, keepingCount: true, sparingLinks: false)
    }

    /// Removes the chip's counter, once the device key is destroyed, while there are still keys in memory: that takes
    /// one. Returns after two seconds if the chip does not answer, since the keys have to go.
    public func removeCounter() {
        guard isDestroyed.load(ordering: .relaxed), let path = device.guesses?.deviceKeyPath,
            (try? Descriptor.open(path: path, O_PATH)) == nil, let counter = device.counter, let done = try? Wakeup()
        else { return }
        let worker = Worker()
        let isStarted: Void? = try? worker.start {
            counter.remove()
            done.signal()
        }
        guard isStarted != nil else { return }
        _ = try? Poll.readable([done.readable], timeout: .seconds(2))
    }

    private func destroy(deviceKeyPath: Path?, keepingCount: Bool, sparingLinks: Bool) -> KeyDestruction {
        sealed.withLock { _ in
            isDestroyed.store(true, ordering: .relaxed)
            return KeyDestruction(
                deviceKeyPath: deviceKeyPath, keptDeviceKeyPath: device.guesses?.deviceKeyPath, volume: volume,
                keybagIn: storage.store, keepingCount: keepingCount, sparingLinks: sparingLinks)
        }
    }
}
