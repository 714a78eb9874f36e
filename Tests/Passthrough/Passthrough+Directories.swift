import Fuse
import Glibc
import Posix

extension Passthrough {
    func opendir(_ request: Request, _ node: NodeID, flags: Int32, reply: consuming Reply<Opened>) {
        do throws(Errno) {
            let directory = try file(node).open(".", O_RDONLY | O_DIRECTORY)
            let handle = directories.insert(OpenDirectory(directory))
            if !reply.succeed(Opened(handle: handle)) { directories.remove(handle) }
        } catch {
            reply.fail(error)
        }
    }

    func readdir(
        _ request: Request, _ node: NodeID, handle: HandleID, offset: Int64, size: Int,
        reply: consuming Reply<Listing>
    ) {
        do throws(Errno) {
            if lacks.contains(.listing) { throw .EINVAL }
            let entries = try faults.answering(.readdir) { () throws(Errno) in
                try directories[handle].entries(from: offset)
            }
            var listing = Listing(capacity: size)
            for (index, entry) in zip(entries.indices, entries) {
                let next = Int64(index + 1)
                guard listing.add(entry.name, inode: entry.inode, kind: entry.kind, next: next) else { break }
            }
            reply.succeed(listing)
        } catch {
            reply.fail(error)
        }
    }

    func readdirplus(
        _ request: Request, _ node: NodeID, handle: HandleID, offset: Int64, size: Int,
        reply: consuming Reply<EntryListing>
    ) {
        do throws(Errno) {
            if lacks.contains(.listing) { throw .EINVAL }
            let directory = try file(node)
            let entries = try faults.answering(.readdir) { () throws(Errno) in
                try directories[handle].entries(from: offset)
            }
            var listing = EntryListing(capacity: size)
            var looked: [NodeID] = []
            for (index, found) in zip(entries.indices, entries) {
                guard listing.fits(found.name) else { break }
                let entry = try plus(found, in: directory)
                if entry.node.rawValue != 0 { looked.append(entry.node) }
                guard listing.add(found.name, entry, next: Int64(index + 1)) else { break }
            }
            if !reply.succeed(listing) {
                for node in looked { nodes.forget(node, count: 1) }
            }
        } catch {
            reply.fail(error)
        }
    }

    /// What a lookup of the entry answers; without a node for `.` and `..`, and for what is gone or cannot be opened.
    private func plus(_ found: DirectoryEntry, in directory: Descriptor) throws(Errno) -> Entry {
        if !found.name.isDotOrDotDot, let entry = try? entry(found.name, in: directory) { return entry }
        var status = try directory.status()
        status.inode = found.inode
        status.mode = found.kind?.mode ?? 0
        return entry(NodeID(rawValue: 0), status)
    }

    func releasedir(_ request: Request, _ node: NodeID, handle: HandleID, reply: consuming Reply<Done>) {
        directories.remove(handle)
        reply.succeed()
    }

    func fsyncdir(
        _ request: Request, _ node: NodeID, handle: HandleID, dataOnly: Bool, reply: consuming Reply<Done>
    ) {
        answer(reply) { () throws(Errno) in
            try file(node).open(".", O_RDONLY | O_DIRECTORY).synchronize(dataOnly: dataOnly)
        }
    }
}
