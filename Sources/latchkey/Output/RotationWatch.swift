import Control
import Failure
import Glibc
import Posix

/// Waits until all files of a mount have the new keys, and shows the progress on standard error.
struct RotationWatch {
    private static let interval = Duration.milliseconds(200)
    private let mount: ServedMount
    private let screen = Screen()

    init(of mount: ServedMount) { self.mount = mount }

    /// - Throws: if some files could not be rewrapped.
    func wait() throws(CommandError) {
        let point = mount.status.mountPoint
        var said: String?
        while let (status, rotation) = try look() {
            if rotation.phase == .waiting, status.state == .unlocked, let failure = rotation.failure {
                guard rotation.failed > 0 else {
                    throw CommandError(
                        .failed,
                        "all files of \(point) have the new keys, but the old ones are not gone yet: \(failure)",
                        try: "latchkey rotate --wait \(point.quoted)")
                }
                throw CommandError(
                    .failed,
                    "\(Amount.of(rotation.failed, "file")) of \(point) could not be given the new keys: \(failure)",
                    try: "latchkey unmount \(point.quoted)", "latchkey fsck --unlock \(mount.status.vault.quoted)",
                    "latchkey rotate --wait \(point.quoted)   (when it is mounted again)")
            }
            screen.show("\(rotation.text)")
            let step = status.state == .unlocked ? rotation.phase.rawValue : "waiting for an unlock"
            if !screen.isTerminal, step != said { Standard.error("\(step)") }
            said = step
            _ = try? Poll.readable([], timeout: Self.interval)
        }
        screen.write { Standard.output("All files of \(point) have the new keys, and the old ones are gone.") }
    }

    private func look() throws(CommandError) -> (Control.Status, Rotation)? {
        do throws(Failure) {
            let status = try mount.client.status()
            return status.rotation.map { (status, $0) }
        } catch { throw CommandError(error, at: mount.status.mountPoint) }
    }
}

extension Rotation {
    /// One line, which follows "rotation" or replaces it.
    var text: String {
        let count = "\(Amount.of(renewed, "file")) done"
        let failures = failed == 0 ? "" : ", \(Amount.of(failed, "file")) not"
        let reason = failure.map { ": \($0)" } ?? ""
        switch phase {
        case .waiting: return "waiting, \(count)\(failures)\(reason)"
        case .renewing: return "\(Int(clamping: done * 100))% looked at, \(count)\(failures)\(reason)"
        case .finishing: return "all files have the new keys, the old ones are being removed"
        }
    }
}
