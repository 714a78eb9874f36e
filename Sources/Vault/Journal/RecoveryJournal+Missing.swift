import Format
import Posix

// Files of a journal that do not lie where their records say.

extension RecoveryJournal {
    /// Finds files whose path could not be found out.
    func searchByHeader(
        for missing: [FileIdentifier: Intent], into places: inout [FileIdentifier: Found]
    ) throws(VaultError) {
        try search(for: missing, named: nil, into: &places)
    }

    /// Finds files of a shared vault in folders that another machine has renamed, of which the journal knows nothing.
    /// Most files that are missing were removed.
    ///
    /// Their backing names are those in the records, wherever the folder lies now. Only under a lease of the file
    /// itself can another machine give it another name, and after that this one finds out its path anew:
    /// `File.declareIntent`.
    func searchByName(
        for missing: [FileIdentifier: Intent], into places: inout [FileIdentifier: Found]
    ) throws(VaultError) {
        let names = Set(missing.values.flatMap { $0.files.compactMap(\.names.names.last) })
        if !names.isEmpty { try search(for: missing, named: names, into: &places) }
    }

    private func search(
        for missing: [FileIdentifier: Intent], named names: Set<Name>?, into places: inout [FileIdentifier: Found]
    ) throws(VaultError) {
        guard !missing.isEmpty else { return }
        var tags: [FileIdentifier: [FileIdentifier]] = [:]
        for (tag, intent) in missing { tags[intent.file, default: []].append(tag) }
        var found: [FileIdentifier: Found] = [:]
        try Walk(vault: vault, names: names).search { (descriptor, header) in
            for tag in tags[header.file] ?? [] where found[tag] == nil {
                guard concerns(header), missing[tag]!.first(fitting: header.generation) != nil else { continue }
                found[tag] = Found(descriptor: descriptor, generation: header.generation)
            }
            return found.count < missing.count
        }
        places.merge(found) { known, _ in known }
    }
}
