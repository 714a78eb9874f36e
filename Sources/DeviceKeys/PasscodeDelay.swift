public import Format
import Keybag
public import Posix
import TPM

/// How long no passcode is tried, after too many wrong ones.
public enum PasscodeDelay {
    /// Seconds until the next passcode is tried; nil if one is tried at once, or if that is not known.
    ///
    /// - Parameter path: the file of the device key, in which case the count lies beside it, or which a TPM has sealed,
    ///   which then counts too.
    public static func seconds(ofDeviceKeyAt path: Path, volume: VolumeIdentifier) -> Int? {
        if let seconds = DeviceKeyFile.passcodeDelay(besides: path, volume: volume) { return seconds }
        guard let kind = try? DeviceKeyLocation.kind(at: path), case .tpm2 = kind,
            let lockout = try? TPM.ofThisMachine().lockout, lockout.isLockedOut
        else { return nil }
        return max(lockout.recoverySeconds, 1)
    }
}
