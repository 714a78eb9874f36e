import Failure
import Freshness
import Glibc
import Keybag
import Posix

extension KeybagRestoration {
    /// What was seen of the vault's files, from a file that was written with the backup.
    ///
    /// - Returns: nil if the file is damaged, or was written with a backup of other keys.
    /// - Throws: `file` if it cannot be read.
    public func marks(in file: Path) throws(Failure) -> MarkTable? {
        let cipher = try backup.marks()
        do throws(Errno) { return try MarkBackup.read(file, volume: backup.volume, cipher: cipher) } catch {
            throw .file(error, doing: "read the marks in", path: file)
        }
    }

    /// What this machine remembers already, locked; nil if there is no file.
    func heldMarks(besides deviceKey: Path) throws(Failure) -> Marks? {
        let path = DeviceKeyFile.marksPath(besides: deviceKey)
        do throws(Errno) { _ = try Descriptor.open(path: path, O_PATH | O_NOFOLLOW) } catch {
            // It is made with the device key.
            if error == .ENOENT { return nil }
            throw .io(error, doing: "opening \(path)")
        }
        do throws(Errno) { return try marks(at: path, besides: deviceKey) } catch .EWOULDBLOCK {
            throw .failed(reason: "a mount of a copy of the vault has \(path); nothing was changed")
        } catch { throw .io(error, doing: "opening \(path)") }
    }

    func take(_ table: MarkTable, into held: Marks?, besides deviceKey: Path) throws(Failure) {
        let path = DeviceKeyFile.marksPath(besides: deviceKey)
        do throws(Errno) {
            let marks = if let held { held } else { try marks(at: path, besides: deviceKey) }
            try marks.merge(table)
        } catch {
            throw .failed(
                reason: "the keybag is restored, but the marks cannot be written to \(path): \(error)")
        }
    }

    private func marks(at path: Path, besides deviceKey: Path) throws(Errno) -> Marks {
        let keys: VolumeKeys
        do throws(Failure) { keys = try backup.volumeKeys() } catch { throw .ENOMEM }
        let key = geteuid() == 0 ? try Descriptor.open(path: deviceKey, O_PATH).status() : nil
        return try Marks(
            path: path, volume: backup.volume, cipher: keys.marks, owner: key.map { ($0.owner, $0.group) })
    }
}
