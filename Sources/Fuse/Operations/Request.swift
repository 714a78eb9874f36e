import CFuse

/// The caller of a request. A value: it outlives the request.
public struct Request: Sendable {
    public let user: UInt32
    public let group: UInt32
    /// The calling thread, as in gettid(2); 0 for a thread in another PID namespace, and for the kernel's own requests.
    public let process: Int32
    /// Set for `create`, `tmpfile`, `mknod` and `mkdir`. The kernel has applied it to the mode already, except under
    /// `Configuration.AccessControlLists.enforcedByKernel`.
    public let umask: UInt32

    init(_ header: fuse_in_header, umask: UInt32 = 0) {
        user = header.uid
        group = header.gid
        process = Int32(bitPattern: header.pid)
        self.umask = umask
    }

    /// Wipes the received bytes as soon as the request is answered or the handler returns: for a write of secret
    /// contents.
    ///
    /// Call it on the thread of the handler, before the answer. Elsewhere it has no effect.
    public func markSecret() { Handling.markSecret() }
}
