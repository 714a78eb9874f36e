public import Failure
import Format
import Glibc
public import Keybag
public import Posix
import TPM

/// The device key of a vault that is recovered: the existing one if it can be used, else a new one.
///
/// Planned before anything is changed, and made after the user has proven a credential.
public struct RecoveredDeviceKey: Hashable, Sendable {
    public let path: Path
    /// Whether there is none yet that can be used.
    public var isNew: Bool { if case .usable = present { false } else { true } }
    /// How it is kept.
    public let kind: DeviceKeyKind
    private let volume: VolumeIdentifier
    private let present: Present

    private enum Present: Hashable {
        case nothing
        case usable(DeviceKeyKind)
        /// The file is empty, or sealed by a TPM that does not release it.
        case useless
    }

    /// Plans the device key.
    ///
    /// - Parameter wanted: how it is to be kept; nil for the way of the existing one if this machine can do that, else
    ///   a file.
    /// - Throws: `notADeviceKey`, `io`; `deviceKeyMismatch` if the file belongs to another vault, whose only key it may
    ///   be.
    public init(_ wanted: DeviceKeyKind?, path: Path, volume: VolumeIdentifier) throws(Failure) {
        self.path = path
        self.volume = volume
        var found: DeviceKeyKind?
        do throws(Failure) {
            try KeyDestruction.check(deviceKeyPath: path, volume: volume)
            found = try DeviceKeyLocation.kind(at: path)
            _ = try DeviceKeyLocation.load(path: path)
            present = .usable(found!)
        } catch {
            switch error {
            case .deviceKeyMissing: present = .nothing
            case .hardware, .otherPCRs, .otherTPM: present = .useless
            case .notADeviceKey where Self.isEmpty(path): present = .useless
            default: throw error
            }
        }
        let isUseful = present != .useless || TPM.isPresent
        kind = wanted ?? (isUseful ? found : nil) ?? .software
    }

    /// Makes the device key, or loads the existing one.
    ///
    /// - Returns: the key, and the new path of an existing file that cannot be used.
    public func make() throws(Failure) -> Made {
        switch present {
        case .nothing: return Made(key: try DeviceKeyLocation.create(kind, path: path, volume: volume), movedAside: nil)
        case .useless: return try replace()
        case .usable(let before):
            let key = try DeviceKeyLocation.load(path: path)
            guard before.name != kind.name else { return Made(key: key, movedAside: nil) }
            try DeviceKeyLocation.keep(key, at: path, as: kind)
            // Loaded anew, since a counter may belong to it now.
            return Made(key: try DeviceKeyLocation.load(path: path), movedAside: nil)
        }
    }

    public struct Made: ~Copyable {
        public let key: DeviceKey
        public let movedAside: Path?

        /// The key, without the path.
        public consuming func takeKey() -> DeviceKey { key }
    }

    /// Renames a file that cannot be used today: it may still open an older copy of the keybag, on the machine as it
    /// was.
    private func replace() throws(Failure) -> Made {
        let unused = path + ".unused-\(time(nil))"
        let doing: Printable = "renaming the device key file \(path)"
        guard path.rename(to: unused) == 0 else { throw .io(Errno.current, doing: doing) }
        do throws(Failure) {
            return Made(key: try DeviceKeyLocation.create(kind, path: path, volume: volume), movedAside: unused)
        } catch {
            _ = unused.rename(to: path)
            throw error
        }
    }

    private static func isEmpty(_ path: Path) -> Bool {
        (try? Descriptor.open(path: path, O_RDONLY | O_NONBLOCK).status())?.size == 0
    }
}

extension TPM {
    /// Whether a TPM answers.
    static var isPresent: Bool {
        guard let tpm = try? TPM.ofThisMachine() else { return false }
        return (try? tpm.lockout) != nil
    }
}
