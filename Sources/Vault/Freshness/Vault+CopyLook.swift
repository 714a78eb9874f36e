import Format
import Posix

// A vault that was restored as a whole is one question, and not one for each file.

extension Vault {
    /// So many files are looked at, for so long: a mount waits for it.
    private static let most = (files: 2000, time: Duration.seconds(2))

    /// If the journal is older than this machine has seen, looks at some files, and finds out whether all of the vault
    /// is as it was at one moment: `FreshnessWatch.moment`.
    public func lookForCopy(from root: Directory) {
        guard let freshness, freshness.journal != .seen else { return }
        let end = BootClock.now + Self.most.time
        var (folders, left) = ([root], Self.most.files)
        var newest = Int64.min
        while let folder = folders.popLast() {
            // What cannot be read tells nothing.
            for entry in (try? entries(of: folder)) ?? [] {
                guard left > 0, BootClock.now < end else { return freshness.concludeCopy(newest: newest) }
                switch (try? lookup(entry.name, in: folder))?.details {
                case .directory(let found): folders.insert(found, at: 0)
                case .file(let header):
                    left -= 1
                    newest = max(newest, header.written.seconds)
                default: break
                }
            }
        }
        freshness.concludeCopy(newest: newest)
    }
}
