import Control
import Glibc
import Posix

extension Hold {
    /// "restic (process 123): nightly backup". All of it but the process and the user is what the program says itself.
    var text: Printable {
        let seen: Printable = pid > 0 ? "process \(pid)" : "a process out of sight"
        // Root holds the locks of other users, too.
        let place: Printable = uid == geteuid() ? seen : "\(seen) of user \(uid)"
        let name = command.flatMap { $0.isEmpty ? nil : $0 }.map { "\(Printable($0)) (\(place))" as Printable } ?? place
        guard let because, !because.isEmpty else { return name }
        return "\(name): \(Printable(because))"
    }
}

extension Control.Status {
    /// Who holds the lock, in one line; nil if no program does, or if the keys go now.
    var heldBy: Printable? {
        guard let holds, let first = holds.first, evictionPhase == nil else { return nil }
        return holds.count == 1 ? "held by \(first.text)" : "held by \(holds.count) programs, first \(first.text)"
    }
}
