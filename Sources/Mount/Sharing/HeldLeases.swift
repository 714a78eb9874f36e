import Format
import Fuse
import Posix
import Sharing
import Vault

/// The leases that one request uses. They are given back by `release`.
struct HeldLeases {
    private let leases: Leases
    private var objects: [LeaseObject] = []

    init(_ leases: Leases) { self.leases = leases }

    /// Whether a lease of this object may be waited for: all machines wait in the order of the numbers.
    func mayWait(for object: LeaseObject) -> Bool { objects.allSatisfy { $0.number < object.number } }

    mutating func acquire(_ object: LeaseObject, _ kind: LeaseKind) throws(Errno) {
        try leases.acquire(object, kind)
        objects.append(object)
    }

    /// False if it would have to wait.
    mutating func acquireAtOnce(_ object: LeaseObject, _ kind: LeaseKind) throws(Errno) -> Bool {
        guard try leases.acquireAtOnce(object, kind) else { return false }
        objects.append(object)
        return true
    }

    mutating func release() {
        for object in objects { leases.release(object) }
        objects = []
    }
}

/// What a request needs leases of.
struct LeaseWants {
    /// A name in a folder, and what is done to the object that it leads to.
    struct Named {
        let folder: Node
        let name: Name
        let kind: LeaseKind
    }

    private(set) var kinds: [LeaseObject: LeaseKind] = [:]
    var names: [Named] = []

    mutating func add(_ object: LeaseObject, _ kind: LeaseKind) {
        kinds[object] = max(kinds[object] ?? kind, kind)
    }

    /// In the order in which they are waited for.
    var sorted: [(object: LeaseObject, kind: LeaseKind)] {
        kinds.map { ($0.key, $0.value) }.sorted { $0.object.number < $1.object.number }
    }
}

extension SharedFileSystem {
    /// So often a name may lead to something else by the time at which the leases are there.
    private static let mostAttempts = 64

    /// Waits for the leases of a request. The names lead to the same objects until they are released.
    ///
    /// - Throws: ETIMEDOUT if another machine does not give one up; EIO once another machine has taken over.
    func hold(_ wants: LeaseWants) throws(Errno) -> HeldLeases {
        var wants = wants
        for _ in 0..<Self.mostAttempts {
            var held = HeldLeases(leases)
            do throws(Errno) {
                for (object, kind) in wants.sorted { try held.acquire(object, kind) }
                var lacking = LeaseWants()
                for named in wants.names {
                    guard let object = object(of: named), wants.kinds[object].map({ $0 < named.kind }) ?? true
                    else { continue }
                    lacking.add(object, named.kind)
                }
                if try add(lacking, to: &held, beside: wants) { return held }
                for (object, kind) in lacking.sorted { wants.add(object, kind) }
            } catch {
                held.release()
                throw error
            }
            held.release()
        }
        throw .EBUSY
    }

    /// False if one of them would have to be waited for out of order.
    private func add(_ lacking: LeaseWants, to held: inout HeldLeases, beside wants: LeaseWants) throws(Errno) -> Bool {
        for (object, kind) in lacking.sorted {
            // It is in use by this request, with a lower lease.
            guard wants.kinds[object] == nil else { return false }
            if held.mayWait(for: object) {
                try held.acquire(object, kind)
            } else if try !held.acquireAtOnce(object, kind) {
                return false
            }
        }
        return true
    }

    /// The object with a lease of its own that a name leads to. Needs a lease of the folder.
    private func object(of named: LeaseWants.Named) -> LeaseObject? {
        guard case .object(let object) = found(named.name, in: named.folder) else { return nil }
        return object
    }

    /// What a name leads to; nil if it cannot be read. Needs a lease of the folder.
    func found(_ name: Name, in node: Node) -> KnownNames.Found? {
        guard let folder = SharedNodes.object(of: node) else { return nil }
        let (known, version) = nodes.withNames { ($0.found(name, in: folder), $0.version(of: folder)) }
        if let known { return known }
        let found: KnownNames.Found
        do throws(VaultError) {
            found = try base.tree.withShared { () throws(VaultError) in
                switch try base.vault.lookupInBrief(name, in: try base.directory(of: node)) {
                case .summarized(_, let summary): return .object(LeaseObject(fingerprint: summary.file.firstHalf))
                case .whole(let entry):
                    switch entry.details {
                    case .file(let header): return .object(LeaseObject(fingerprint: header.file.firstHalf))
                    case .directory(let found): return .object(LeaseObject(fingerprint: found.identifier.firstHalf))
                    case .other: return .covered
                    }
                }
            }
        } catch {
            // The request itself finds out what is wrong with the name.
            guard error == .system(.ENOENT) else { return nil }
            found = .nothing
        }
        nodes.withNames { [found] names in names.note(found, name, in: folder, readAt: version) }
        return found
    }
}
