import Format
import Posix

extension CheckWorker {
    /// Notes damage, which in `lost+found` is known already.
    func damage(
        _ kind: Finding.Kind, _ reason: String, path: [UInt8]?, in trail: Trail, _ stored: Name?,
        lost: LostRanges? = nil
    ) {
        check.report(
            Finding(
                trail.isLostAndFound ? .note : .damage, kind, path: path, backingPath: trail.backingPath(of: stored),
                reason: reason, lost: lost))
    }

    func leftover(_ kind: Finding.Kind, _ reason: String, path: [UInt8]? = nil, in trail: Trail, _ stored: Name) {
        check.report(
            Finding(.leftover, kind, path: path, backingPath: trail.backingPath(of: stored), reason: reason))
    }

    func note(_ kind: Finding.Kind, _ reason: String, path: [UInt8]? = nil, in trail: Trail, _ stored: Name?) {
        check.report(
            Finding(.note, kind, path: path, backingPath: trail.backingPath(of: stored), reason: reason))
    }

    /// What an error means for the entry `stored`, called `name` in the mount; without them for the directory itself.
    ///
    /// - Parameters:
    ///   - kind: what damage it is, if it is damage.
    ///   - what: said before what the system answered.
    func report(
        _ error: VaultError, _ kind: Finding.Kind, _ what: String, in trail: Trail, _ name: Name? = nil,
        _ stored: Name? = nil
    ) {
        let path = stored != nil && name == nil ? nil : trail.path(of: name)
        switch error {
        case .damaged(let reason):
            damage(kind, reason, path: path, in: trail, stored)
        case .locked:
            check.progress.countLocked()
        case .system(let errno) where errno == .EIO || errno.rawValue == 117 || errno == .EBADMSG:
            // 117 is EUCLEAN, "structure needs cleaning": a file system's word for damage of its own.
            damage(.unreadable, "\(what): \(errno)", path: path, in: trail, stored)
        case .system(let errno):
            note(.unchecked, "\(what): \(errno)", path: path, in: trail, stored)
        }
    }
}
