import Vault
import VaultCheck

/// A line of at most 79 columns: an estimate of the part that is done, and the exact numbers of files and bytes.
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
