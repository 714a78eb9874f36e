import Failure
import Glibc
import Keybag
import Logging
import Posix
import Store
import Freshness
import Vault

extension OpenVault {
    /// What this machine remembers of the vault's files; nil if it remembers nothing.
    ///
    /// - Throws: why it cannot, if older files are to be refused.
    func freshness(_ configuration: Configuration, _ log: Logger) throws(Failure) -> (FreshnessWatch?, trouble: String?)
    {
        let answer: FreshnessWatch.Answer
        switch configuration.freshness {
        case .off: return (nil, nil)
        case .warn: answer = .warn
        case .strict: answer = .refuse
        }
        let path = DeviceKeyFile.marksPath(besides: deviceKeyPath)
        do throws(Errno) {
            if configuration.readOnly {
                let marks = try Marks(reading: path, volume: keybag.volume, cipher: keybag.keys.marks)
                return (FreshnessWatch(marks, answer, remembers: false), nil)
            }
            let key = geteuid() == 0 ? try Descriptor.open(path: deviceKeyPath, O_PATH).status() : nil
            let marks = try Marks(
                path: path, volume: keybag.volume, cipher: keybag.keys.marks,
                owner: key.map { ($0.owner, $0.group) },
                // To erase the vault is to remove both: the device key first.
                isWanted: { [deviceKeyPath] in (try? Descriptor.open(path: deviceKeyPath, O_PATH)) != nil })
            if configuration.isRestored {
                try marks.forgetAll()
                log.notice("the vault is accepted as it is")
            }
            return (FreshnessWatch(marks, answer, remembers: true), nil)
        } catch {
            // Nothing has been seen yet, and a read-only mount does not begin to remember.
            if configuration.readOnly && error == .ENOENT {
                return (FreshnessWatch(Marks(), answer, remembers: false), nil)
            }
            let why: Printable =
                switch error {
                case .EWOULDBLOCK: "another mount has \(path)"
                case .EINVAL, .EISDIR: "\(path) is no regular file"
                case .ELOOP: "\(path) is a symbolic link"
                default: "\(path): \(error)"
                }
            let text = ("cannot remember which versions of files were seen: \(why)" as Printable).text
            guard answer == .warn else { throw .failed(reason: text) }
            log.warning("\(text)")
            return (nil, why.text)
        }
    }
}
