import Glibc
import Posix

/// All folders with control sockets of daemons that this user may ask.
///
/// They do not depend on the environment: a mount that was made in a desktop session is also found from cron, over SSH,
/// and after that session has ended.
public struct SocketDirectories: Sendable {
    let folders: [SocketDirectory]

    public init(_ folders: [SocketDirectory]) {
        self.folders = folders
    }

    /// The folders of this user; for root, those of all users.
    public static var reachable: SocketDirectories {
        let user = geteuid()
        guard user == 0 else { return SocketDirectories(folders(of: user)) }
        let temporary = names(in: SocketDirectory.temporaryFolder).compactMap { name in
            SocketDirectory.owner(ofTemporary: name).map {
                SocketDirectory(path: "\(SocketDirectory.temporaryFolder)/\(name)", owner: $0)
            }
        }
        let runtime = names(in: runtimeFolder).compactMap { name in
            UInt32(name).map { SocketDirectory(path: "\(runtimeFolder)/\(name)/latchkey", owner: $0) }
        }
        return SocketDirectories(([.root] + temporary + runtime).filter(\.isUsable))
    }

    /// Those of one user; nil for all.
    public func owned(by user: UInt32?) -> SocketDirectories {
        SocketDirectories(folders.filter { user == nil || $0.owner == user })
    }

    /// Where logind makes a folder for each user who is logged in. Earlier versions put their sockets there.
    private static let runtimeFolder = "/run/user"

    private static func folders(of user: UInt32) -> [SocketDirectory] {
        var paths = SocketDirectory.temporary(of: user).map(\.path) + ["\(runtimeFolder)/\(user)/latchkey"]
        if let runtime = unsafe getenv("XDG_RUNTIME_DIR"), unsafe runtime.pointee == UInt8(ascii: "/") {
            let path = unsafe String(cString: runtime) + "/latchkey"
            if !paths.contains(path) { paths.append(path) }
        }
        return paths.map { SocketDirectory(path: $0, owner: user) }.filter(\.isUsable)
    }

    /// The names in a folder, sorted; none if it cannot be read.
    static func names(in folder: String) -> [String] {
        guard let stream = unsafe opendir(folder) else { return [] }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            names.append(
                unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                    unsafe String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
                })
        }
        return names.sorted()
    }
}
