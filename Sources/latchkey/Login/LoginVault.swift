import Administration
import Control
import Failure
import Format
import Glibc
import Keybag
import Posix
import Store
import VaultNames

/// A vault that is unlocked at logins, and whether the passcode of a login may be tried on it.
struct LoginVault: Sendable {
    let named: NamedVault

    /// The least number of wrong passcodes that must be left before the vault erases itself.
    private static let leastGuesses = 3
    /// How often, and at what distance in microseconds, another process is waited for that tries a passcode.
    private static let waits = (count: 30, pause: UInt32(100_000))

    /// What the vault is now; nil if it is not there.
    ///
    /// A mount by another user's daemon counts as none: the passcode is for this user's alone.
    var place: PathArgument? {
        guard let place = try? PathArgument.of(named) else { return nil }
        if case .mount(let mount) = place, mount.owner != geteuid() { return nil }
        return place
    }

    /// Why the passcode is not tried, so that it can follow "the passcode of the login was not tried:"; nil if it may
    /// be.
    ///
    /// A login counts one wrong passcode at most: after it, no login tries one until a right one has reset the count.
    /// So a vault with another passcode than the login's does not come to its limit by logins.
    ///
    /// - Parameter deviceKey: the path of the device key that its daemon uses; nil if it is not mounted.
    func objection(deviceKey: Path?) -> Printable? {
        do throws(Failure) {
            let keybag = try OpenKeybag.inspect(try store())
            let limit = Int(keybag.settings.eraseAfter)
            guard limit == 0 || limit >= Self.leastGuesses else {
                return "the vault is erased after \(limit) wrong ones"
            }
            let path = deviceKey ?? named.keyPath ?? DeviceKeyFile.defaultPath(for: keybag.volume)
            guard let wrong = try wrongPasscodes(besides: path, keybag.volume) else {
                return "another program tries one"
            }
            // So three guesses or more are left of a limit.
            guard wrong == 0 else {
                return """
                    the last one that was tried is wrong; after latchkey unlock with the right one, a login tries again
                    """
            }
            return nil
        } catch { return CommandError(error, of: named.folderPath).message }
    }

    private func store() throws(Failure) -> DirectoryStore {
        do throws(Errno) { return try DirectoryStore(path: named.folderPath) } catch {
            throw .file(error, doing: "open", path: named.folderPath)
        }
    }

    /// Nil if another process does not come to the end of its try.
    private func wrongPasscodes(besides path: Path, _ volume: VolumeIdentifier) throws(Failure) -> Int? {
        for _ in 0..<Self.waits.count {
            do throws(Errno) { return try DeviceKeyFile.wrongPasscodes(besides: path, volume: volume) } catch {
                guard error == .EWOULDBLOCK else { throw .io(error, doing: "reading the count of guesses") }
            }
            _ = usleep(Self.waits.pause)
        }
        return nil
    }
}
