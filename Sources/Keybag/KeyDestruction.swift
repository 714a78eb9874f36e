import Crypto
import Format
import Glibc
import Posix
public import Store

/// Makes a vault unreadable by destroying what releases its keys, whatever its size: first this machine's share, then the
/// keybag with every way in.
///
/// Each is written over, made durable, and removed. A disk that writes elsewhere than it is told (flash, copy on write)
/// may keep what was there; then one share alone is of no use still.
public enum KeyDestruction {
    /// - Parameter deviceKeyPath: where the device key lies, if it does.
    /// - Throws: the first failure, after all else has been tried.
    public static func destroy(deviceKeyPath: String, keybagIn store: any Store) throws(KeybagError) {
        var failure: KeybagError?
        func trying(_ body: () throws(KeybagError) -> Void) {
            do throws(KeybagError) { try body() } catch { failure = failure ?? error }
        }
        for path in [deviceKeyPath, deviceKeyPath + GuessCounter.suffix] {
            trying { () throws(KeybagError) in try destroy(path) }
        }
        for name in [KeybagStorage.current, KeybagStorage.previous, KeybagStorage.coming] {
            trying { () throws(KeybagError) in try destroy(name, in: store) }
        }
        trying { () throws(KeybagError) in
            try io("making it durable", try store.synchronize(store.root, dataOnly: false))
        }
        if let failure { throw failure }
    }

    private static func destroy(_ path: String) throws(KeybagError) {
        let doing = "destroying \(path)"
        do throws(Errno) {
            let file = try Descriptor.open(path: path, O_RDWR | O_NOFOLLOW | O_NONBLOCK)
            for round in 0..<2 {
                let bytes = noise(Int(try file.status().size), round: round)
                try unsafe file.write(bytes.span.bytes, at: 0)
                try file.synchronize(dataOnly: false)
            }
        } catch {
            if error == .ENOENT { return }
            // What cannot be written over can be removed, perhaps.
            guard unsafe unlink(path) == 0 else { throw .io(error, doing: doing) }
            return
        }
        guard unsafe unlink(path) == 0 else { throw .io(Errno.current, doing: doing) }
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        if let folder = try? Descriptor.open(path: folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY) {
            try io(doing, try folder.synchronize(dataOnly: false))
        }
    }

    private static func destroy(_ name: Name, in store: any Store) throws(KeybagError) {
        let doing = "destroying \(name)"
        do throws(Errno) {
            let file = try store.open(name, in: store.root, O_RDWR | O_NONBLOCK)
            for round in 0..<2 {
                let bytes = noise(Int(try store.status(of: file).size), round: round)
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

    /// Random first, then zeros. What is longer than a key's file can be was somebody else's.
    private static func noise(_ count: Int, round: Int) -> [UInt8] {
        let count = min(max(count, 0), KeybagFile.largest)
        return round == 0 ? Random.bytes(count) : [UInt8](repeating: 0, count: count)
    }
}

extension OpenKeybag {
    /// Destroys this keybag and the device key, whether or not the store may be written to for anything else.
    public func destroy(deviceKeyPath: String) throws(KeybagError) {
        try KeyDestruction.destroy(deviceKeyPath: deviceKeyPath, keybagIn: storage.store)
    }
}
