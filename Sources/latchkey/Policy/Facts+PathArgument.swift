import Control
import Failure
import Format
import Keybag
import Policy
import Posix
import Store

extension Facts {
    /// What a vault shows without a key, and what its daemon reports while it is mounted.
    init(of argument: PathArgument) throws(CommandError) {
        switch argument {
        case .vault(let path): try self.init(ofVault: path.path)
        case .mount(let mount):
            try self.init(ofVault: mount.status.vault)
            try add(mount.status)
        case .orphan(let entry):
            throw CommandError(
                .notFound, "no daemon answers for \(entry.mountPoint)",
                try: "latchkey unmount \(entry.mountPoint.quoted)")
        }
    }

    /// From the unencrypted, unverified part of the keybag: good for a report, not for a decision.
    private init(ofVault path: Path) throws(CommandError) {
        self.init()
        let store: DirectoryStore
        do { store = try DirectoryStore(path: path) } catch {
            throw CommandError(cannot: "open the vault", path, error)
        }
        let keybag = try withKeybag(of: path) { () throws(Failure) in try OpenKeybag.inspect(store) }
        escrowKeys = keybag.escrowKeys
        erasure = keybag.settings.eraseAfter > 0 ? .after(Int(keybag.settings.eraseAfter)) : .never
    }

    private mutating func add(_ status: Control.Status) throws(CommandError) {
        grace = Int(exactly: status.grace.rounded(.up)) ?? .max
        longestHold = status.longestHold.map { Int(exactly: $0.rounded(.up)) ?? .max }
        deviceKey = DeviceKeyKind(rawValue: status.deviceKey)
        idleLock = status.lockWhenIdle.map { .after(Int(exactly: $0.rounded(.up)) ?? .max) } ?? .never
        forgetting =
            status.forgetAfter.map { .after(Int(exactly: ($0 / 3600).rounded(.up)) ?? .max) } ?? .never
        freshness = FreshnessLevel(status.freshness)
        do {
            let root = try Descriptor.open(path: status.mountPoint, O_PATH)
            let value = try root.attribute(ProtectionClass.attributeName)
            defaultClass = ProtectionClass(attributeValue: String(decoding: value, as: UTF8.self))
        } catch {
            throw CommandError(cannot: "read the class of", status.mountPoint, error)
        }
    }
}

extension FreshnessLevel {
    /// Of a mount that tells of it, or is not to remember files. One that is, and cannot, compares nothing either.
    fileprivate init(_ freshness: Control.Freshness?) {
        guard let freshness, freshness.trouble == nil else {
            self = .off
            return
        }
        self = freshness.isStrict ? .strict : .warn
    }
}
