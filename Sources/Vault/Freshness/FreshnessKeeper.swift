import Crypto
import Posix

/// A thread that writes what is remembered to the file of marks, and flushes the store for that now and then.
public final class FreshnessKeeper: Sendable {
    /// How often the file of marks is written to.
    private static let interval = Duration.seconds(5)
    /// So long a mark waits for a flush of the store that something else needs. As long as file systems commonly let
    /// dirty data wait.
    private static let patience = Duration.seconds(30)
    /// How often the thread looks for what was found.
    private static let pollInterval = Duration.milliseconds(500)

    private let vault: Vault
    private let watch: FreshnessWatch
    private let found: @Sendable ([StaleObject], Int) -> Void
    private let failed: @Sendable (Errno) -> Void
    private let end: Wakeup
    private let worker = Worker()

    /// - Parameters:
    ///   - found: called with files that are older than what this machine has seen, each once, and with the number of
    ///     others.
    ///   - failed: called when the file of marks cannot be written, once until it can be again.
    public init?(
        _ vault: Vault, found: @escaping @Sendable ([StaleObject], Int) -> Void,
        failed: @escaping @Sendable (Errno) -> Void
    ) throws(Errno) {
        guard let watch = vault.freshness else { return nil }
        self.vault = vault
        self.watch = watch
        self.found = found
        self.failed = failed
        end = try Wakeup()
    }

    /// - Throws: the reason why no thread can be made.
    public func start() throws(Errno) {
        try worker.start { [self] in run() }
    }

    /// Ends the thread and waits until it has ended.
    public func stop() {
        end.signal()
        worker.join()
    }

    /// Writes what the end of the vault's session has made durable. Call it after that.
    public func finish() {
        tell()
        guard watch.remembers, !SecureHeap.isWiping else { return }
        do throws(Errno) { try watch.marks.save() } catch { failed(error) }
    }

    private func run() {
        var (saved, waitingSince) = (BootClock.now, Duration?.none)
        var hasFailed = false
        while true {
            // Poll does not fail for valid descriptors.
            let signalled = (try? Poll.readable([end.readable], timeout: Self.pollInterval)) ?? []
            guard signalled.isEmpty else { return }
            tell()
            // An erased vault's keys are wiped while its mount ends: this thread would stop at the first of them.
            guard watch.remembers, !SecureHeap.isWiping else { continue }
            let now = BootClock.now
            let waiting = watch.marks.waiting
            waitingSince = waiting.any ? waitingSince ?? now : nil
            if waiting.many || waitingSince.map({ now - $0 >= Self.patience }) ?? false {
                // A failure is told to those whose data it concerns.
                try? vault.flushAll()
                waitingSince = nil
            }
            guard now - saved >= Self.interval || waiting.many else { continue }
            saved = now
            do throws(Errno) {
                try watch.marks.save()
                hasFailed = false
            } catch {
                if !hasFailed { failed(error) }
                hasFailed = true
            }
        }
    }

    private func tell() {
        let news = watch.takeNews()
        if !news.objects.isEmpty { found(news.objects, news.more) }
    }
}
