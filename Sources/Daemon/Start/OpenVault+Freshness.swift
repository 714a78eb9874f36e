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
    func freshness(_ configuration: Configuration, _ log: Logger) throws(Failure) -> FreshnessWatch? {
        let answer: FreshnessWatch.Answer
        switch configuration.freshness {
        case .off: return nil
        case .warn: answer = .warn
        case .strict: answer = .refuse
        }
        let path = DeviceKeyFile.marksPath(besides: deviceKeyPath)
        do throws(Errno) {
            if configuration.readOnly {
                let marks = try Marks(reading: path, volume: keybag.volume, cipher: keybag.keys.marks)
                return FreshnessWatch(marks, answer, remembers: false)
            }
            let key = geteuid() == 0 ? try Descriptor.open(path: deviceKeyPath, O_PATH).status() : nil
            let marks = try Marks(
                path: path, volume: keybag.volume, cipher: keybag.keys.marks,
                owner: key.map { ($0.owner, $0.group) })
            if configuration.isRestored {
                try marks.forgetAll()
                log.notice("the vault is accepted as it is")
            }
            return FreshnessWatch(marks, answer, remembers: true)
        } catch {
            if configuration.readOnly && error == .ENOENT { return nil }
            guard answer == .warn else { throw .io(error, doing: "opening \(path)") }
            let why = error == .EWOULDBLOCK ? "another mount has them" : "\(error)"
            log.warning(
                "cannot remember which versions of files were seen: \(why)",
                metadata: ["file": .stringConvertible(path.printable)])
            return nil
        }
    }
}
