import Format
import Posix

// In a shared vault, files of a machine's journal may lie elsewhere: another machine has renamed a folder above them,
// of which the journal knows nothing.

extension RecoveryJournal {
    /// Finds files that do not lie where their records say. Most of them were removed.
    ///
    /// Their backing names are those in the records, wherever the folder lies now. Only under a lease of the file
    /// itself can another machine give it another name; after that, the records have no path: `File.declareIntent`.
    func search(for missing: [FileIdentifier: Intent]) throws(VaultError) -> [FileIdentifier: Found] {
        var found: [FileIdentifier: Found] = [:]
        var wanted: [FileIdentifier: [FileIdentifier]] = [:]
        var names: Set<Name> = []
        for (tag, intent) in missing {
            names.formUnion(intent.files.compactMap(\.names.names.last))
            wanted[intent.file, default: []].append(tag)
        }
        guard !names.isEmpty else { return found }
        try Walk(vault: vault, names: names).search { (descriptor, header) in
            for tag in wanted[header.file] ?? [] where found[tag] == nil {
                guard concerns(header), missing[tag]!.first(fitting: header.generation) != nil else { continue }
                found[tag] = Found(descriptor: descriptor, generation: header.generation)
            }
            return found.count < missing.count
        }
        return found
    }
}
