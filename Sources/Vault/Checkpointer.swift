import Posix

/// A thread that checkpoints a vault's files by and by, so that a crash finds little to lose and the journal room.
public final class Checkpointer: Sendable {
    /// As long as file systems commonly let data wait.
    private static let interval = Duration.seconds(5)
    /// How often it looks whether there is anything to checkpoint.
    private static let glance = Duration.milliseconds(500)

    private let vault: Vault
    private let failed: @Sendable (VaultError) -> Void
    /// Rung for its end.
    private let end: Bell
    private let pressure: Bell
    private let worker = Worker()

    /// - Parameter failed: told of each checkpoint that fails, which is tried again.
    public init(_ vault: Vault, failed: @escaping @Sendable (VaultError) -> Void) throws(Errno) {
        self.vault = vault
        self.failed = failed
        (end, pressure) = (try Bell(), try Bell())
    }

    /// - Throws: why no thread can be made.
    public func start() throws(Errno) {
        try worker.start { [self] in run() }
        vault.pressure.withLock { [pressure] in $0 = pressure }
    }

    /// Ends the thread; returns when it has ended.
    public func stop() {
        end.ring()
        worker.join()
    }

    private func run() {
        var dirtySince: Duration?
        var isListening = true
        while true {
            // Poll does not fail for valid descriptors.
            let bells = isListening ? [end.descriptor, pressure.descriptor] : [end.descriptor]
            let rings = (try? Poll.readable(bells, timeout: Self.glance)) ?? []
            isListening = true
            if rings.contains(0) { return }
            if rings.contains(1) { pressure.silence() }
            guard !vault.isCheckpointed else {
                dirtySince = nil
                continue
            }
            let since = dirtySince ?? BootClock.now
            dirtySince = since
            guard BootClock.now - since >= Self.interval || vault.isPressed else { continue }
            do throws(VaultError) { try vault.checkpoint() } catch {
                failed(error)
                // Or it would fail, and say so, as often as somebody writes.
                isListening = false
            }
            dirtySince = nil
        }
    }
}

extension Vault {
    /// Has the journal's other half freed while the active one fills up. Of the files that wait a glance sees enough.
    func ringIfPressed() {
        if journal.withLock({ $0 })?.isPressed ?? false { pressure.withLock { $0 }?.ring() }
    }

    /// Checkpoints now saves somebody from waiting for it.
    var isPressed: Bool {
        files.dirtyCount > mostDirtyFiles / 2 || journal.withLock { $0 }?.isPressed ?? false
    }
}
