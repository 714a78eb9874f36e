import Administration
import Control
import Glibc
import Keybag
import Posix
import Store
import VaultNames

/// One line of `latchkey list`: a named vault, or a mount of a vault without a name.
struct ListedVault: Encodable {
    /// What can be said without asking for a secret.
    enum State: String, Encodable {
        case notMounted = "not-mounted"
        case beforeFirstUnlock = "before-first-unlock"
        case unlocked
        case locking
        case locked
        case ending
        case notAnswering = "not-answering"
        case folderMissing = "folder-missing"
        case noAccess = "no-access"
        case keybagMissing = "keybag-missing"
        case erased
        case notAVault = "not-a-vault"
        case damaged

        var text: Printable {
            switch self {
            case .notMounted: "not mounted"
            case .beforeFirstUnlock: "before the first unlock"
            case .unlocked: "unlocked"
            case .locking: "locking"
            case .locked: "locked"
            case .ending: "ending"
            case .notAnswering: "its daemon does not answer"
            case .folderMissing: "folder missing"
            case .noAccess: "no access to its folder"
            case .keybagMissing: "keybag missing"
            case .erased: "erased"
            case .notAVault: "not a vault"
            case .damaged: "keybag damaged"
            }
        }
    }

    let name: String?
    let state: State
    /// The absolute path of the ciphertext; nil of a mount whose daemon does not say.
    let vault: Path?
    /// Where it is mounted, or would be.
    let mountPoint: Path
    /// The line of its table in the configuration.
    let line: Int?
    /// When it was erased, in seconds since 1970; nil unless `state` is `erased`.
    private(set) var erased: UInt64?

    /// As in the list.
    var stateText: Printable { erased.map { "erased on \(Clock.date(Double($0)))" } ?? state.text }

    /// A named vault.
    init(_ named: NamedVault) {
        name = named.name.text
        line = named.line
        switch Result(catching: { () throws(CommandError) in try PathArgument.of(named) }) {
        case .success(.mount(let mount)):
            (state, vault, mountPoint) = (State(mount.status), mount.status.vault, mount.status.mountPoint)
        case .success(.orphan(let entry)):
            (state, vault, mountPoint) = (.notAnswering, named.folderPath, entry.mountPoint)
        case .success(.vault), .failure:
            erased = State.erasure(of: named.folderPath)
            let state = erased == nil ? State(ofUnmounted: named.folderPath) : .erased
            (self.state, vault, mountPoint) = (state, named.folderPath, named.point)
        }
    }

    /// A mount whose vault has no name.
    init(_ mount: ServedMount) {
        (name, line) = (nil, nil)
        (state, vault, mountPoint) = (State(mount.status), mount.status.vault, mount.status.mountPoint)
    }

    init(_ mount: SilentMount) {
        (name, line) = (nil, nil)
        (state, vault, mountPoint) = (.notAnswering, nil, mount.mountPoint)
    }

    private enum Key: String, CodingKey {
        case name, state, vault, vaultBase64, mountPoint, mountPointBase64, line, erased
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(name, forKey: .name)
        try container.encode(state, forKey: .state)
        try container.encodeIfPresent(vault.map { PathInJSON.text($0) }, forKey: .vault)
        try container.encodeIfPresent(vault.flatMap { PathInJSON.base64($0) }, forKey: .vaultBase64)
        try container.encode(PathInJSON.text(mountPoint), forKey: .mountPoint)
        try container.encodeIfPresent(PathInJSON.base64(mountPoint), forKey: .mountPointBase64)
        try container.encodeIfPresent(line, forKey: .line)
        try container.encodeIfPresent(erased, forKey: .erased)
    }

    /// All named vaults in the order of the configuration, then the other mounts of this user.
    static func all(_ named: NamedVaults) throws(CommandError) -> [ListedVault] {
        let listed = named.vaults.map { ListedVault($0) }
        let points = Set(listed.filter { $0.state.isMounted }.map(\.mountPoint))
        let (served, silent) = try PathArgument.all()
        return listed + served.filter { !points.contains($0.status.mountPoint) }.map { ListedVault($0) }
            + silent.filter { !points.contains($0.mountPoint) }.map { ListedVault($0) }
    }
}

extension ListedVault.State {
    fileprivate init(_ status: Control.Status) {
        guard status.ending != true else {
            self = .ending
            return
        }
        switch status.state {
        case .beforeFirstUnlock: self = .beforeFirstUnlock
        case .unlocked: self = .unlocked
        case .locking: self = .locking
        case .locked: self = .locked
        }
    }

    fileprivate init(ofUnmounted folder: Path) {
        guard let path = try? AbsolutePath(resolving: folder) else {
            self = folder.access(F_OK) != 0 && Errno.current == .EACCES ? .noAccess : .folderMissing
            return
        }
        guard path.isVault else {
            self = path.hindrance != nil ? .noAccess : path.hasRootFiles ? .keybagMissing : .notAVault
            return
        }
        let keybag = try? OpenKeybag.inspect(DirectoryStore(path: path.path))
        self = keybag == nil ? .damaged : .notMounted
    }

    /// When the vault was erased, as it says; nil if it was not.
    fileprivate static func erasure(of folder: Path) -> UInt64? {
        guard case .lostKeybag(_, let erased)? = (try? AbsolutePath(resolving: folder))?.lostKeybag(as: folder) else {
            return nil
        }
        return erased
    }

    fileprivate var isMounted: Bool {
        switch self {
        case .beforeFirstUnlock, .unlocked, .locking, .locked, .ending, .notAnswering: true
        case .notMounted, .folderMissing, .noAccess, .keybagMissing, .erased, .notAVault, .damaged: false
        }
    }
}
