import Crypto
public import Failure
public import Format
import Glibc
public import Posix

/// A device key in a file of mode 0600 outside the vault: docs/FORMAT.md, "The device key file".
///
/// A thief of the whole disk can read it. An existing file is never overwritten by a new key: it may be the only key
/// to a vault.
public enum DeviceKeyFile {
    static let byteCount = 64
    static let magic = Array("LKDEVKEY".utf8)
    /// The magic of a file with a key that a chip has sealed. Its first 32 bytes have the layout of a plain key's file.
    public static let sealedMagic = Array("LKTPMKEY".utf8)
    static let version: [UInt8] = [1, 0]
    private static let keyRange = 32..<64

    /// The default path of a vault's device key: `latchkey/V.key` in the user's XDG state folder.
    /// - Parameter environment: looks up XDG_STATE_HOME and HOME.
    public static func defaultPath(
        for volume: VolumeIdentifier, environment: (String) -> String? = variable
    ) -> Path {
        "\(stateFolder(environment: environment))/\(volume).key"
    }

    /// Where this program keeps what belongs to the user on this machine: `latchkey` in the user's XDG state folder.
    public static func stateFolder(environment: (String) -> String? = variable) -> String {
        // XDG Base Directory Specification: ignore a relative path.
        let state = environment("XDG_STATE_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
        return "\(state ?? "\(environment("HOME") ?? "/root")/.local/state")/latchkey"
    }

    /// An environment variable of this process.
    public static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    /// - Parameter counting: counts wrong passcodes in a file beside the key.
    /// - Throws: `deviceKeyMissing` if there is no such file, `notADeviceKey` if it is something else.
    public static func load(path: Path, counting: Bool = true) throws(Failure) -> DeviceKey {
        let file: Descriptor
        do {
            file = try Descriptor.open(path: path, O_RDONLY | O_NONBLOCK)
        } catch {
            guard error == .ENOENT else { throw .io(error, doing: "opening the device key file \(path)") }
            throw .deviceKeyMissing(path: path)
        }
        var contents = try crypto(try Secret(count: byteCount + 1))
        let count: Int
        do {
            count = try contents.withMutableBytes { bytes throws(Errno) in try file.read(into: &bytes, at: 0) }
        } catch { throw .io(error, doing: "reading the device key file \(path)") }
        let head = contents.withBytes { $0.array(0..<32) }
        guard count == byteCount, head.starts(with: magic), Array(head[8..<10]) == version,
            head[10..<16].allSatisfy({ $0 == 0 })
        else { throw .notADeviceKey(path: path) }
        let volume = VolumeIdentifier(Array(head[16..<32]))
        return DeviceKey(
            volume: volume, secret: try crypto(try contents.slice(keyRange)),
            guesses: counting ? GuessCounter(besideDeviceKey: path, volume: volume) : nil,
            memory: counting ? KeybagMemory(besideDeviceKey: path) : nil)
    }

    /// Makes a device key and its file, durably. Folders that are missing above it are made with mode 0700.
    /// - Throws: `io(EEXIST)` if there is anything at `path`.
    public static func create(path: Path, volume: VolumeIdentifier) throws(Failure) -> DeviceKey {
        let key = try crypto(try DeviceKey(generatedFor: volume))
        try write(contents(of: key), path: path)
        begin(path, volume)
        return try key.copy(besides: path, hardware: nil)
    }

    /// Seconds until a passcode is tried, by the count of wrong ones beside the device key; nil if one is tried at
    /// once, or while another process tries one.
    public static func passcodeDelay(besides path: Path, volume: VolumeIdentifier) -> Int? {
        GuessCounter(besideDeviceKey: path, volume: volume).delay
    }

    /// How many wrong passcodes were tried since the last right one, by the count beside the device key; 0 if nothing
    /// is counted.
    ///
    /// - Throws: EWOULDBLOCK while another process tries one.
    public static func wrongPasscodes(besides path: Path, volume: VolumeIdentifier) throws(Errno) -> Int {
        try GuessCounter(besideDeviceKey: path, volume: volume).wrong()
    }

    /// Removes what this machine keeps beside a device key that was never used: the count of wrong passcodes, and the
    /// newest keybag.
    public static func removeWhatLiesBeside(_ path: Path) {
        let memory = KeybagMemory(besideDeviceKey: path)
        for path in [path + GuessCounter.suffix] + memory.paths + memory.marksPaths { _ = path.unlink() }
    }

    /// The path of the file of marks: what this machine remembers of the files of the vault with the device key at
    /// `path`.
    public static func marksPath(besides path: Path) -> Path { KeybagMemory.marks(besideDeviceKey: path) }

    /// Starts the count of wrong passcodes of a new device key at zero.
    private static func begin(_ path: Path, _ volume: VolumeIdentifier) {
        // While the disk has room: if the disk is full later, no passcode could be counted. If this fails, the first
        // unlock makes the file.
        try? GuessCounter(besideDeviceKey: path, volume: volume).begin()
    }

    /// Makes a new file with a key that a chip has sealed, as durably as one with a plain key.
    ///
    /// - Throws: `io(EEXIST)` if there is anything at `path`.
    public static func create(
        sealed: [UInt8], path: Path, volume: VolumeIdentifier
    ) throws(Failure) {
        try write(crypto(try Secret(copying: unsafe sealed.span.bytes)), path: path)
        begin(path, volume)
    }

    /// Makes a new file with this key in plain form.
    ///
    /// - Throws: `io(EEXIST)` if there is anything at `path`.
    public static func export(_ key: borrowing DeviceKey, path: Path) throws(Failure) {
        try write(contents(of: key), path: path)
    }

    /// Replaces the file at `path` by this key in plain form.
    public static func replace(path: Path, by key: borrowing DeviceKey) throws(Failure) {
        try write(contents(of: key), path: path, isReplacement: true)
    }

    /// Replaces the file at `path` by a key that a chip has sealed, and overwrites the old contents.
    public static func replace(path: Path, bySealed sealed: [UInt8]) throws(Failure) {
        try write(crypto(try Secret(copying: unsafe sealed.span.bytes)), path: path, isReplacement: true)
    }

    private static func contents(of key: borrowing DeviceKey) throws(Failure) -> Secret {
        let head = magic + version + [UInt8](repeating: 0, count: 6) + key.volume.bytes
        return try crypto(try Secret(joining: Secret(copying: unsafe head.span.bytes), key.secret))
    }

    private static func write(
        _ contents: borrowing Secret, path: Path, isReplacement: Bool = false
    ) throws(Failure) {
        let doing: Printable = "\(isReplacement ? "replacing" : "creating") the device key file \(path)"
        let (folder, name) = try io(doing, try folder(of: isReplacement ? resolved(path) : path))
        do throws(Errno) {
            // Complete or not at all: a partial key is useless, and its file would block the next attempt.
            let temporary = try TemporaryKeyFile(for: name, in: folder)
            do throws(Errno) {
                try contents.withBytes { bytes throws(Errno) in try temporary.file.write(bytes, at: 0) }
                try temporary.file.synchronize(dataOnly: false)
                if isReplacement { return try replace(name, by: temporary.name, in: folder) }
                try rename(temporary.name, as: name, in: folder)
            } catch {
                temporary.remove(from: folder)
                throw error
            }
            // Before the folder is flushed: no second copy of the key may survive a crash.
            try? folder.unlink(temporary.name)
            do throws(Errno) { try folder.synchronize(dataOnly: false) } catch {
                // The key is not in use yet, and its file would block the next attempt.
                try? folder.unlink(name)
                throw error
            }
        } catch { throw .io(error, doing: doing) }
    }

    /// Overwrites the old file once the new one is durable, since it may hold the plain key. If the old file still has
    /// another name (a hard link), it is kept: the owner may have made that as a backup.
    private static func replace(_ name: Name, by temporary: Name, in folder: Descriptor) throws(Errno) {
        let old = try folder.open(name, O_RDWR | O_NOFOLLOW | O_NONBLOCK)
        try folder.rename(temporary, to: name, in: folder)
        try folder.synchronize(dataOnly: false)
        let status = try old.status()
        guard status.linkCount == 0 else { return }
        // The new file is in force: a failure to overwrite the old bytes does not undo the replacement.
        let noise = Random.bytes(min(Int(status.size), 4096))
        try? unsafe old.write(noise.span.bytes, at: 0)
        try? old.synchronize(dataOnly: false)
    }

    /// Removes the temporary file that a killed program has left beside the device key: it may hold the key.
    public static func removeOrphan(of path: Path) {
        guard let (folder, name) = try? self.folder(of: resolved(path), making: false) else { return }
        guard let temporary = TemporaryKeyFile.name(for: name), (try? folder.status(of: temporary)) != nil,
            let file = try? TemporaryKeyFile(for: name, in: folder)
        else { return }
        file.remove(from: folder)
        try? folder.synchronize(dataOnly: false)
    }

    /// The vault whose device key, plain or sealed, an open file holds; nil if the file is not a device key.
    static func owner(of file: Descriptor) throws(Errno) -> VolumeIdentifier? {
        var head = [UInt8](repeating: 0, count: 32)
        let count: Int
        do {
            var elements = head.mutableSpan
            var span = unsafe elements.mutableBytes
            count = try file.read(into: &span, at: 0)
        }
        guard count == head.count, head.starts(with: magic) || head.starts(with: sealedMagic) else { return nil }
        return VolumeIdentifier(Array(head[16..<32]))
    }

    /// The path with symbolic links resolved, or the path itself if its target does not exist.
    private static func resolved(_ path: Path) -> Path { (try? path.resolved()) ?? path }

    /// Gives the file a name that does not exist yet: by link(2), or by rename(2) if the store has no hard links.
    private static func rename(_ temporary: Name, as name: Name, in folder: Descriptor) throws(Errno) {
        do throws(Errno) { try folder.link(temporary, to: name, in: folder) } catch {
            guard error == .EPERM || error == .EOPNOTSUPP || error == .EMLINK else { throw error }
            try folder.rename(temporary, to: name, in: folder, flags: RENAME_NOREPLACE)
        }
    }

    /// The folder of a path, made if it is missing, and the last component.
    private static func folder(of path: Path, making: Bool = true) throws(Errno) -> (Descriptor, Name) {
        var components = path.components
        guard let last = components.popLast(), let name = Name(bytes: last), path.bytes.last != UInt8(ascii: "/")
        else { throw .EINVAL }
        // The names of the files beside it are longer.
        guard last.count + GuessCounter.suffix.utf8.count <= Name.maximumCount else { throw .ENAMETOOLONG }
        var reached: Path = path.isAbsolute ? "/" : "."
        // O_PATH needs only the search permission: the caller may be unable to read a folder above.
        var folder = try Descriptor.open(path: reached, O_PATH | O_DIRECTORY)
        for component in components {
            guard let step = Name(bytes: component) else { throw .EINVAL }
            reached = "\(reached)/\(step)"
            do throws(Errno) {
                guard making else { throw .EEXIST }
                try folder.makeDirectory(step, mode: 0o700)
                try folder.reopen(O_RDONLY | O_DIRECTORY).synchronize(dataOnly: false)
            } catch  where error == .EEXIST || error == .EROFS || error == .EACCES {
                // If the folder exists already, the open below succeeds; else it reports the error.
            }
            folder = try Descriptor.open(path: reached, O_PATH | O_DIRECTORY)
        }
        return (try folder.reopen(O_RDONLY | O_DIRECTORY), name)
    }
}
