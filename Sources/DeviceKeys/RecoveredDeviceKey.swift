public import Failure
import Format
import Glibc
public import Keybag
import Posix
import TPM

/// The device key that a vault gets when it is recovered: the one that is there, if it can be used, else a new one.
///
/// Planned before anything is changed, and made after somebody has proven that he may open the vault.
public struct RecoveredDeviceKey: Hashable, Sendable {
    public let path: String
    /// What keeps it.
    public let kind: DeviceKeyKind
    private let volume: VolumeIdentifier
    private let present: Present

    private enum Present: Hashable {
        case nothing
        case usable(DeviceKeyKind)
        /// Empty, or sealed by a TPM that does not release it.
        case useless
    }

    /// What it would be.
    ///
    /// - Parameter wanted: what is to keep it; nil for what keeps the one that is there, as far as that goes on this
    ///   machine, else a file.
    /// - Throws: `notADeviceKey`, `io`; `deviceKeyMismatch` if the file is another vault's: that may be the only key to
    ///   something.
    public init(_ wanted: DeviceKeyKind?, path: String, volume: VolumeIdentifier) throws(Failure) {
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

    /// Makes it, or loads the one that is there.
    ///
    /// - Returns: also where one that was of no use lies now.
    public func make() throws(Failure) -> Made {
        switch present {
        case .nothing: return Made(key: try DeviceKeyLocation.create(kind, path: path, volume: volume), movedAside: nil)
        case .useless: return try replace()
        case .usable(let before):
            let key = try DeviceKeyLocation.load(path: path)
            guard before.name != kind.name else { return Made(key: key, movedAside: nil) }
            try DeviceKeyLocation.keep(key, at: path, as: kind)
            return Made(key: try DeviceKeyLocation.key(key, at: path, as: kind), movedAside: nil)
        }
    }

    public struct Made: ~Copyable {
        public let key: DeviceKey
        public let movedAside: String?

        /// The key alone.
        public consuming func takeKey() -> DeviceKey { key }
    }

    /// What cannot be used today may be of use to a copy of the keybag from before, in a machine as it was: it is kept.
    private func replace() throws(Failure) -> Made {
        let unused = path + ".unused-\(time(nil))"
        let doing = "moving the device key file \(path) aside"
        guard unsafe rename(path, unused) == 0 else { throw .io(Errno.current, doing: doing) }
        do throws(Failure) {
            return Made(key: try DeviceKeyLocation.create(kind, path: path, volume: volume), movedAside: unused)
        } catch {
            _ = unsafe rename(unused, path)
            throw error
        }
    }

    private static func isEmpty(_ path: String) -> Bool {
        (try? Descriptor.open(path: path, O_RDONLY | O_NONBLOCK).status())?.size == 0
    }
}

extension TPM {
    /// Whether one answers.
    static var isPresent: Bool {
        guard let tpm = try? TPM.ofThisMachine() else { return false }
        return (try? tpm.lockout) != nil
    }
}
