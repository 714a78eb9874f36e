import Posix
import Sharing

/// What the names in folders lead to, as long as this machine has leases of the folders.
///
/// A request that reads a name may run beside one that changes it: the kernel confirms a name that it has kept without
/// the folder's lock. So what was read counts only if no change has begun or ended since. A value: `SharedNodes` guards
/// it.
struct KnownNames {
    enum Found: Hashable {
        /// Something with a lease of its own.
        case object(LeaseObject)
        /// Something that the folder's lease covers.
        case covered
        case nothing
    }

    private struct Folder {
        var names: [Name: Found] = [:]
        /// How many requests change a name at the moment.
        var changing = 0
        /// Grows when one ends.
        var version = 0
    }

    private var folders: [LeaseObject: Folder] = [:]
    private var count = 0
    private let most: Int

    init(most: Int = 200_000) { self.most = most }

    /// Nil if it is not known, or a name in the folder changes.
    func found(_ name: Name, in folder: LeaseObject) -> Found? {
        guard let folder = folders[folder], folder.changing == 0 else { return nil }
        return folder.names[name]
    }

    /// To be asked before a name is read; nil while a name in the folder changes.
    func version(of folder: LeaseObject) -> Int? {
        let folder = folders[folder] ?? Folder()
        return folder.changing == 0 ? folder.version : nil
    }

    /// A name was read, at a version of its folder.
    mutating func note(_ found: Found, _ name: Name, in folder: LeaseObject, readAt version: Int?) {
        guard let version, self.version(of: folder) == version else { return }
        set(found, name, in: folder)
    }

    /// The request that changes the name has made what it leads to now.
    mutating func didMake(_ found: Found, _ name: Name, in folder: LeaseObject) { set(found, name, in: folder) }

    private mutating func set(_ found: Found, _ name: Name, in folder: LeaseObject) {
        if count >= most {
            for folder in folders.keys { folders[folder]!.names = [:] }
            count = 0
        }
        if folders[folder, default: Folder()].names.updateValue(found, forKey: name) == nil { count += 1 }
    }

    /// A request is about to change a name.
    mutating func beginChange(_ name: Name, in folder: LeaseObject) {
        folders[folder, default: Folder()].changing += 1
        if folders[folder]!.names.removeValue(forKey: name) != nil { count -= 1 }
    }

    mutating func endChange(in folder: LeaseObject) {
        folders[folder]?.changing -= 1
        folders[folder]?.version += 1
    }

    /// The machine has no lease of the folder any more, and so no request uses it.
    mutating func forget(_ folder: LeaseObject) {
        count -= folders.removeValue(forKey: folder)?.names.count ?? 0
    }
}
