import Glibc
import Synchronization
import Vault

/// Standard error while a check runs: a progress bar in its last line, if it is a terminal.
final class Screen: Sendable {
    let hasBar = isatty(STDERR_FILENO) == 1
    /// Whether the bar is to be seen now.
    private let isShown = Mutex(false)

    /// Lets `body` write lines, the bar out of the way. For one thread at a time.
    func write(_ body: () -> Void) {
        isShown.withLock { isShown in
            if isShown { Standard.progress("") }
            isShown = false
            body()
        }
    }

    func show(_ progress: CheckProgress, after time: Duration) {
        guard hasBar else { return }
        isShown.withLock { isShown in
            Standard.progress(ProgressBar(progress, seconds: time / .seconds(1)).text)
            isShown = true
        }
    }
}

/// One line of at most 79 columns: how much is done of the whole, an estimate; and exactly how many files and bytes.
struct ProgressBar {
    let text: String
    private static let width = 24

    init(_ progress: CheckProgress, seconds: Double) {
        self.init(
            fraction: progress.fraction, files: progress.files + progress.directories, bytes: progress.bytes,
            seconds: seconds)
    }

    init(fraction: Double, files: Int, bytes: UInt64, seconds: Double) {
        let fraction = min(max(fraction, 0), 1)
        let done = Int(fraction * Double(Self.width))
        let percent = "\(Int(fraction * 100))"
        let bar = String(repeating: "#", count: done) + String(repeating: ".", count: Self.width - done)
        let rate = seconds > 0 ? Amount.bytes(UInt64(Double(bytes) / seconds)) : "0 B"
        let padding = String(repeating: " ", count: 3 - percent.count)
        text = "\(padding)\(percent) % [\(bar)] \(Amount.count(files)) entries, \(Amount.bytes(bytes)), \(rate)/s"
    }
}
