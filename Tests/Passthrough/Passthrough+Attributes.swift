import CLinux
import Fuse
import Glibc
import Posix

extension Passthrough {
    func getattr(_ request: Request, _ node: NodeID, handle: HandleID?, reply: consuming Reply<Attributes>) {
        do throws(Errno) {
            reply.succeed(Attributes(status: try file(node).status(), timeout: Self.timeout))
        } catch {
            reply.fail(error)
        }
    }

    func setattr(
        _ request: Request, _ node: NodeID, _ changes: AttributeChanges, handle: HandleID?,
        reply: consuming Reply<Attributes>
    ) {
        do throws(Errno) {
            let file = try file(node)
            try apply(changes, to: file, handle)
            reply.succeed(Attributes(status: try file.status(), timeout: Self.timeout))
        } catch {
            reply.fail(error)
        }
    }

    private func apply(_ changes: AttributeChanges, to file: Descriptor, _ handle: HandleID?) throws(Errno) {
        if let mode = changes.mode { try file.setMode(mode & 0o7777) }
        if changes.owner != nil || changes.group != nil {
            // chown(2) takes the set-ID bits and the capabilities away here as it would there.
            try file.setOwner(user: changes.owner, group: changes.group)
        }
        if let size = changes.size {
            if let handle {
                try files[handle].truncate(to: size)
            } else if unsafe truncate("/proc/self/fd/\(file.number)", off_t(size)) != 0 {
                throw .current
            }
        }
        if changes.dropsPrivileges { try Self.dropPrivileges(of: file) }
        if changes.accessed != .keep || changes.modified != .keep {
            try file.setTimes(accessed: changes.accessed, modified: changes.modified)
        }
    }

    /// The session has told the kernel that the file system does this.
    static func dropPrivileges(of file: Descriptor) throws(Errno) {
        let mode = try file.status().mode
        var kept = mode & ~S_ISUID
        if mode & S_IXGRP != 0 { kept &= ~S_ISGID }
        if kept != mode { try file.setMode(kept & 0o7777) }
        do throws(Errno) {
            try file.removeAttribute("security.capability")
        } catch .ENODATA, .EOPNOTSUPP {
            return
        }
    }

    func setxattr(
        _ request: Request, _ node: NodeID, _ name: [UInt8], value: RawSpan, flags: Int32, dropsSetGroupID: Bool,
        reply: consuming Reply<Done>
    ) {
        let value = unsafe value.withUnsafeBytes { bytes in unsafe Array(bytes) }
        answer(reply) { () throws(Errno) in
            if lacks.contains(.largeAttributes), value.count > 1000 { throw .ENOSPC }
            try file(node).setAttribute(try text(name), to: value, flags: flags)
        }
    }

    func getxattr(_ request: Request, _ node: NodeID, _ name: [UInt8], reply: consuming Reply<AttributeValue>) {
        do throws(Errno) {
            reply.succeed(try file(node).attribute(try text(name)))
        } catch {
            reply.fail(error)
        }
    }

    func listxattr(_ request: Request, _ node: NodeID, reply: consuming Reply<AttributeNames>) {
        do throws(Errno) {
            if lacks.contains(.attributes) { throw .EOPNOTSUPP }
            reply.succeed(try file(node).attributeNames().map { Array($0.utf8) })
        } catch {
            reply.fail(error)
        }
    }

    func removexattr(_ request: Request, _ node: NodeID, _ name: [UInt8], reply: consuming Reply<Done>) {
        answer(reply) { () throws(Errno) in try file(node).removeAttribute(try text(name)) }
    }

    private func text(_ name: [UInt8]) throws(Errno) -> String {
        guard !lacks.contains(.attributes), let text = String(validating: name, as: UTF8.self) else {
            throw .EOPNOTSUPP
        }
        return text
    }
}
