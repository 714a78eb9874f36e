import Format
import Posix

/// Which names of a file are changing, and what must be durable before its header may say so.
package struct NameState {
    /// Whether the file has a name.
    package enum Removal {
        case named
        case removed
        /// No crash brings the last name back.
        case durable
    }

    /// Folders that must be durable before the header may forget the old bindings, and before the journal may know the
    /// file by a new path.
    package private(set) var folders: [Descriptor] = []
    /// The bindings that the header has after that; nil if they stay.
    package private(set) var finalBindings: [NameBinding]?
    /// The class and the wrap at the old name, after a rename that took over another class.
    package private(set) var currentProtection: FileProtection?
    /// The folder that the file was made in, until its header is durable.
    package private(set) var createdIn: DirectoryIdentifier?
    /// The first generation whose header has the file's name; 0 if each header on disk has it. Until that header is
    /// flushed, the file's pending bindings have the name.
    package private(set) var pendingUntil: UInt64 = 0
    /// The last generation whose header had another class for the new name; 0 if none had.
    package private(set) var lastMoving: UInt64 = 0
    /// The file was found as a crash in the middle of a rename has left it.
    package private(set) var isInterrupted = false
    package private(set) var removal = Removal.named
    /// The folder that its last name was in, if that is known.
    package private(set) var removedFrom: Descriptor?

    package var hasChanges: Bool { !folders.isEmpty }

    // MARK: Gains and losses

    package mutating func didCreate(in folder: DirectoryIdentifier?) { createdIn = folder }

    /// The header is durable, with the name that the file was made under.
    package mutating func didFlushHeader() { createdIn = nil }

    /// The file has got a name in a folder.
    package mutating func didGain(in folder: Descriptor) { folders.append(folder) }

    /// The file has lost the name `binding`, or has another one for it.
    ///
    /// - Parameter bindings: of the header.
    package mutating func didLeave(_ binding: NameBinding, _ folders: [Descriptor], of bindings: [NameBinding]) {
        self.folders += folders
        let left = (finalBindings ?? bindings).filter { $0 != binding }
        if !left.isEmpty { finalBindings = left }
    }

    /// The next header has a new class for the new name, and keeps this one for the old name.
    package mutating func keepAtOldName(_ protection: FileProtection) { currentProtection = protection }

    /// The name was set in order: the header of this generation has it and may not be on disk.
    package mutating func didMoveInOrder(_ generation: UInt64) { pendingUntil = max(pendingUntil, generation) }

    /// The file was found under a name, with this header in its backing file.
    ///
    /// - Parameter isOnlyLink: the file has no other name.
    package mutating func didFind(_ placed: FileHeader, at binding: NameBinding, isOnlyLink: Bool) {
        let isPending = !placed.belongs(at: binding)
        isInterrupted = placed.pending != nil || isOnlyLink && (isPending || placed.bindings.count > 1)
        if placed.pending != nil { didPlaceMoving(placed.generation) }
        // An older header may be on disk, which has another name.
        if isInterrupted || isPending { didMoveInOrder(placed.generation + 1) }
    }

    /// The header has the name at which the file was found, and no other.
    package mutating func didStay() { isInterrupted = false }

    /// A header of this generation was written that gives the file one class at the old name and one at the new.
    package mutating func didPlaceMoving(_ generation: UInt64) { lastMoving = max(lastMoving, generation) }

    /// The rename that took over a class has not happened.
    package mutating func cancelProtection() { currentProtection = nil }

    /// The folders are durable. Returns the bindings that the header has from now on; nil if they stay.
    package mutating func didFlushFolders() -> [NameBinding]? {
        defer {
            finalBindings = nil
            currentProtection = nil
            folders = []
        }
        return finalBindings
    }

    // MARK: The last name

    package mutating func didLoseLastName(from folder: Descriptor) { removedFrom = folder }

    /// The file was found without a name.
    package mutating func didFindNoName() { if removal == .named { removal = .removed } }

    package mutating func didFlushRemoval() { removal = .durable }
}
