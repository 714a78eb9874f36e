import Control
import Crypto
import DeviceKeys
import Keybag
import Posix
import Store

/// A person may mistype a passcode: three tries, each of which is counted as a guess.
enum PasscodeTries {
    private static let limit = 3

    /// Runs `body`, which asks for a passcode and tries it; again while the passcode is wrong, three times in all.
    ///
    /// - Parameter isAsked: whether a person is asked for the passcode; otherwise there is one try.
    static func repeating<Result: ~Copyable>(
        _ isAsked: Bool, _ body: () throws(CommandError) -> Result
    ) throws(CommandError) -> Result {
        var left = isAsked ? limit : 1
        while true {
            left -= 1
            do throws(CommandError) { return try body() } catch {
                guard left > 0, error.isWrongPasscode else { throw error }
                Complaint.say(error.message, onError: "latchkey: \(error.message)")
            }
        }
    }

    /// Throws if no passcode is tried at present, so that none is typed in vain.
    ///
    /// - Parameters:
    ///   - vault: its path.
    ///   - deviceKey: the path of its device key; nil for the one that its daemon uses, or for the default path.
    static func refuseIfDelayed(in vault: Path, deviceKey: Path?) throws(CommandError) {
        guard let store = try? DirectoryStore(path: vault), let volume = (try? OpenKeybag.inspect(store))?.volume else {
            return
        }
        let mounts = deviceKey == nil ? SocketDirectories.reachable.mounts(volume: "\(volume)") : []
        let served = mounts.first { $0.status.vault == vault }?.status.deviceKeyFile
        let path = deviceKey ?? served ?? DeviceKeyFile.defaultPath(for: volume)
        guard let seconds = PasscodeDelay.seconds(ofDeviceKeyAt: path, volume: volume) else { return }
        throw CommandError(
            .wrongPasscode,
            "too many wrong passcodes: \(vault) takes the next one in \(CommandError.wait(seconds)); "
                + "none was asked for",
            try: "the same with --recovery   (which need not wait)")
    }
}

extension PasscodeOptions {
    /// Whether a person is asked for the passcode.
    var isAsked: Bool { source.isAsked }

    /// Asks for a vault's passcode, or reads it.
    func read(
        _ subject: SecretSource.Subject = .passcode, of vault: Path, deviceKey: Path? = nil
    ) throws(CommandError) -> Secret {
        if isAsked { try PasscodeTries.refuseIfDelayed(in: vault, deviceKey: deviceKey) }
        return try source.read(subject.of(vault))
    }
}
