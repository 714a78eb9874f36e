import Format
import Posix
import Vault

extension CheckWorker {
    /// Reports damage. In `lost+found` it is only a note, because it is known there.
    func damage(_ kind: Finding.Kind, _ reason: Printable, at spot: Spot, lost: LostRanges? = nil) {
        check.report(
            Finding(spot.treePath.isLostAndFound ? .note : .damage, kind, at: spot, reason: reason, lost: lost))
    }

    func orphan(_ kind: Finding.Kind, _ reason: Printable, at spot: Spot) {
        check.report(Finding(.orphan, kind, at: spot, reason: reason))
    }

    func note(_ kind: Finding.Kind, _ reason: Printable, at spot: Spot) {
        check.report(Finding(.note, kind, at: spot, reason: reason))
    }

    /// Reports an error as a finding.
    ///
    /// - Parameters:
    ///   - kind: the kind of damage, if the error means damage.
    ///   - what: the text in front of the system's error.
    func report(_ error: VaultError, _ kind: Finding.Kind, _ what: Printable, at spot: Spot) {
        guard error != .locked else { return check.progress.countLocked() }
        check.report(Finding(error, kind, what, at: spot))
    }
}

extension Finding {
    /// A finding for an error: damage of that kind, a disk that fails, or something that could not be checked.
    init(_ error: VaultError, _ kind: Kind, _ what: Printable, at spot: Spot) {
        let damage = spot.treePath.isLostAndFound ? Severity.note : .damage
        switch error {
        case .damaged(let reason):
            self.init(damage, kind, at: spot, reason: "\(reason)")
        case .system(let errno) where errno == .EIO || errno.rawValue == 117 || errno == .EBADMSG:
            // EUCLEAN, 117, "structure needs cleaning": the file system reports damage of its own.
            self.init(damage, .unreadable, at: spot, reason: "\(what): \(errno)")
        case .unsupported(let reason):
            self.init(.note, .unsupported, at: spot, reason: "\(reason)")
        case .system, .locked, .unseen, .stale:
            self.init(.note, .unchecked, at: spot, reason: "\(what): \(error.errno)")
        }
    }
}
