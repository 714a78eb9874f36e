import Format
import Posix
import Store

// How the journal knows a file.

extension File {
    /// Makes sure that the journal knows the file, on top of the header that the backing file has; false for a file
    /// without a name.
    func beginRecords() throws(Errno) -> Bool {
        if state.unsettled.isRemoved { return false }
        if state.unsettled.isJournaled { return true }
        // Until the record is there no folder gets another name.
        return try vault.paths.withShared { () throws(Errno) in try claim() }
    }

    private func claim() throws(Errno) -> Bool {
        var path: [UInt8] = []
        do throws(Errno) {
            path = try vault.store.path(of: descriptor)
        } catch {
            guard error != .ENOENT else {
                state.unsettled.isRemoved = true
                return false
            }
        }
        let journal = try vault.openJournal()
        // Listed before it has records: whoever frees a half takes a file that is not listed for settled.
        list()
        let slot = try journal.append(
            Journal.Claim(
                path: path, low: state.unsettled.durableGeneration, high: state.unsettled.placedGeneration),
            of: identity)
        if state.unsettled.durableGeneration == 0 {
            journal.noteBirth(of: identity)
        }
        state.unsettled.isJournaled = true
        state.unsettled.sequence = slot.sequence
        return true
    }
}
