import CrashSimulator
import Foundation
import Posix
import Store
import Testing

@testable import Vault

extension CrashTests {
    /// Values that take two attributes of the backing store: after a crash at any moment one of the values is there,
    /// whole.
    @Suite struct LargeAttributes {
        private static let name = Array("user.large".utf8)

        /// The values that were set in turn, and whether each was synced.
        private static let turns: [(value: [UInt8]?, isSynced: Bool)] = [
            ([UInt8](repeating: 1, count: 65_536), true), ([UInt8](repeating: 2, count: 65_536), false),
            ([UInt8](repeating: 3, count: 65_520), true), ([4], false), ([UInt8](repeating: 5, count: 65_536), false),
            (nil, false), ([UInt8](repeating: 6, count: 65_536), true), (nil, true),
            ([UInt8](repeating: 7, count: 65_504), false),
        ]

        @Test(arguments: SimulatedDisk.Order.allCases) func setAndRemoved(order: SimulatedDisk.Order) throws {
            let recorded = try RecordedVault()
            let opened = try recorded.makeFile("file")
            let owner = AttributeOwner.file(opened.file)
            do throws(VaultError) {
                try recorded.vault.setAttribute(Self.name, to: Self.turns[0].value!, flags: 0, of: owner)
                try recorded.vault.removeAttribute(Self.name, of: owner)
            } catch {
                print("NOT TESTED: the temporary folder takes no values of 64 KiB: \(error)")
                return
            }
            try recorded.synchronizeAll()
            let begin = recorded.records.count
            // By number of records: the earliest and the latest value that may be there.
            var history: [(records: Int, oldest: Int, newest: Int)] = [(begin, 0, 0)]
            for (turn, act) in Self.turns.enumerated() {
                let oldest = history.last!.oldest
                history.append((recorded.records.count, oldest, turn + 1))
                if let value = act.value {
                    try recorded.vault.setAttribute(Self.name, to: value, flags: 0, of: owner)
                } else {
                    try recorded.vault.removeAttribute(Self.name, of: owner)
                }
                guard act.isSynced else { continue }
                try recorded.synchronize(opened)
                history.append((recorded.records.count, turn + 1, turn + 1))
            }
            let values = [nil] + Self.turns.map(\.value)
            let report = try Simulation("large attributes", order, budget: budget(300)).run(
                recorded.records, found: begin
            ) { state, crash in
                let last = history.last { $0.records <= crash }!
                do {
                    let vault = recorded.keys.vault(over: try DirectoryStore(path: Path(state.path)))
                    defer { vault.abandon() }
                    let file = try vault.openFile("file", in: try vault.openRoot())
                    defer { file.close() }
                    var found: [UInt8]?
                    do throws(VaultError) { found = try vault.attribute(Self.name, of: .file(file)) } catch {
                        guard error == .system(.ENODATA) else { return [Violation(.unreadable, "\(error)")] }
                    }
                    guard values[last.oldest...last.newest].contains(found) else {
                        return [Violation(.contents, "\(found?.first ?? 0), not \(last.oldest) to \(last.newest)")]
                    }
                    return []
                } catch { return [Violation(.closed, "\(error)")] }
            }
            expectNone(report, "large attributes", order)
        }
    }
}
