import Glibc
import Posix

/// The user whom root's mount(8) makes a mount for: the daemon runs as that user, with the user's device key.
struct ServingUser {
    private let name: String
    private let user: uid_t
    private let group: gid_t
    private let home: String

    /// - Parameter typed: a name, or a number.
    init(_ typed: String) throws(HelperError) {
        let found = unsafe getpwnam(typed) ?? uid_t(typed).flatMap { unsafe getpwuid($0) }
        guard let entry = unsafe found else { throw HelperError(.usage, "setuid=\(typed): there is no such user") }
        name = unsafe String(cString: entry.pointee.pw_name)
        home = unsafe String(cString: entry.pointee.pw_dir)
        (user, group) = unsafe (entry.pointee.pw_uid, entry.pointee.pw_gid)
    }

    /// mount(8) removes HOME from the environment of an ordinary user's helper, and at boot there is none.
    static func completeEnvironment() {
        guard unsafe getenv("HOME") == nil, let entry = unsafe getpwuid(geteuid()) else { return }
        _ = unsafe setenv("HOME", entry.pointee.pw_dir, 1)
    }

    /// Gives up root's rights for good. Call it before the first thread.
    func become() throws(HelperError) {
        guard user != geteuid() else { return }
        guard geteuid() == 0 else {
            throw HelperError(.usage, "setuid=\(name): only root can mount for another user")
        }
        guard unsafe initgroups(name, group) == 0, setgid(group) == 0, Glibc.setuid(user) == 0 else {
            throw HelperError(.systemError, "cannot become the user \(name): \(Errno.current)")
        }
        // The user can read the environment of the daemon before it forbids that, so nothing of root's stays in it.
        var environment = ["HOME": home, "USER": name, "LOGNAME": name]
        for variable in ["PATH", "LANG", "LC_ALL", "TZ", "TERM"] {
            if let value = unsafe getenv(variable) { environment[variable] = unsafe String(cString: value) }
        }
        clearenv()
        for (variable, value) in environment { _ = unsafe setenv(variable, value, 1) }
    }
}
