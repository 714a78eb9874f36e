import Posix

/// A thread that checkpoints a vault's files in the background, so that a crash loses little and the journal has room.
public final class Checkpointer: Sendable {
    /// As long as file systems commonly let dirty data wait.
    private static let interval = Duration.seconds(5)
    /// How often the thread looks for something to checkpoint.
    private static let pollInterval = Duration.milliseconds(500)

    private let vault: Vault
    private let failed: @Sendable (VaultError) -> Void
    private let end: Wakeup
    private let lowSpace: Wakeup
    private let worker = Worker()

    /// - Parameter failed: called for each checkpoint that fails; the checkpoint is tried again.
    public init(_ vault: Vault, failed: @escaping @Sendable (VaultError) -> Void) throws(Errno) {
        self.vault = vault
        self.failed = failed
        (end, lowSpace) = (try Wakeup(), try Wakeup())
    }

    /// - Throws: the reason why no thread can be made.
    public func start() throws(Errno) {
        try worker.start { [self] in run() }
        vault.checkpoints.lowSpace.withLock { [lowSpace] in $0 = lowSpace }
    }

    /// Ends the thread and waits until it has ended.
    public func stop() {
        end.signal()
        worker.join()
    }

    private func run() {
        var dirtySince: Duration?
        var isListening = true
        while true {
            // Poll does not fail for valid descriptors.
            let wakeups = isListening ? [end.readable, lowSpace.readable] : [end.readable]
            let signalled = (try? Poll.readable(wakeups, timeout: Self.pollInterval)) ?? []
            isListening = true
            if signalled.contains(0) { return }
            if signalled.contains(1) { lowSpace.clear() }
            guard !vault.isCheckpointed else {
                dirtySince = nil
                shrinkJournal()
                continue
            }
            let since = dirtySince ?? BootClock.now
            dirtySince = since
            guard BootClock.now - since >= Self.interval || vault.isLowOnSpace else { continue }
            // What changes meanwhile waits as long, and not longer by as much as this checkpoint takes.
            dirtySince = BootClock.now
            do throws(VaultError) { try vault.checkpoint() } catch {
                failed(error)
                // Otherwise each write would start a checkpoint that fails and is reported.
                isListening = false
            }
            // Programs that write on and on leave no other moment.
            shrinkJournal()
        }
    }

    /// An error does no harm: it is tried again, and the next change tells it if the journal fails for good.
    private func shrinkJournal() {
        try? vault.shrinkJournal()
    }
}

extension Vault {
    /// Wakes the checkpointer when the active part of the journal fills up, so that it frees the next one in time.
    func signalLowSpace() {
        if journal.withLock({ $0 })?.isLowOnSpace ?? false { checkpoints.lowSpace.withLock { $0 }?.signal() }
    }

    /// Wakes the checkpointer when more than half of the dirty files that are allowed wait, and again after each 64
    /// more: programs rename thousands of files between two of its looks, and must not have to wait for it.
    func signalDirtyFiles(_ count: Int) {
        let excess = count - mostDirtyFiles / 2
        if excess > 0, excess % 64 == 1 { checkpoints.lowSpace.withLock { $0 }?.signal() }
    }

    /// A checkpoint now keeps a later write from having to wait for one.
    var isLowOnSpace: Bool {
        files.dirtyCount > mostDirtyFiles / 2 || journal.withLock { $0 }?.isLowOnSpace ?? false
    }
}
