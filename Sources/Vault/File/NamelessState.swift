import Synchronization

/// What belongs to a file only while it has no name.
struct NamelessState: ~Copyable, Sendable {
    /// Where the backing file lies, if the file has no name yet. Lock order: docs/ARCHITECTURE.md.
    let place = Mutex<UnnamedBinding?>(nil)
    /// The sidecar of its attributes, once the file has lost its last name: it goes when no program has the file open.
    /// Lock order: docs/ARCHITECTURE.md.
    let staleSidecar = Mutex<StaleSidecars.Sidecar?>(nil)
}
