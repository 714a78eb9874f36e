import Format
import Posix

// A vault that was restored as a whole is one question, and not one for each file.

extension Vault {
    /// So many entries are looked at, for about so long: a mount waits for it. Folders are open meanwhile.
    private static let most = (entries: 2000, folders: 200, time: Duration.seconds(2))

    /// If the journal is older than this machine has seen, looks at some files, and finds out whether all of the vault
    /// is as it was at one moment: `FreshnessWatch.moment`.
    public func lookForCopy(from root: Directory) {
        guard let freshness, freshness.journal != .seen else { return }
        let end = BootClock.now + Self.most.time
        var (folders, left) = ([root][...], Self.most.entries)
        var newest = Int64.min
        while let folder = folders.popFirst() {
            // What cannot be read tells nothing.
            for entry in (try? allEntries(of: folder)) ?? [] {
                guard left > 0, BootClock.now < end else { return freshness.concludeCopy(newest: newest) }
                left -= 1
                switch (try? lookup(entry.name, in: folder))?.details {
                case .directory(let found) where folders.count < Self.most.folders: folders.append(found)
                case .file(let header): newest = max(newest, header.written.seconds)
                default: break
                }
            }
        }
        freshness.concludeCopy(newest: newest)
    }
}
