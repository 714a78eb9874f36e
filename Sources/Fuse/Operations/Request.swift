import CFuse

/// Who asks. A value: it outlives the request.
public struct Request: Sendable {
    public let user: UInt32
    public let group: UInt32
    /// The thread that asks, as gettid(2) gives it; 0 if it lives in another PID namespace, or for the kernel's own
    /// requests.
    public let process: Int32
    /// Set for `create`, `tmpfile`, `mknod` and `mkdir`, whose modes the kernel has already masked with it, but for
    /// `Configuration.AccessControlLists.enforcedByKernel`.
    public let umask: UInt32

    init(_ raw: fuse_req_t) {
        let context = unsafe fuse_req_ctx(raw).pointee
        user = context.uid
        group = context.gid
        process = context.pid
        umask = context.umask
    }

    /// Has the received bytes wiped as soon as the handler returns: for a write that carried secret contents.
    ///
    /// To be called on the thread on which the file system was called, before it returns; elsewhere it does nothing.
    public func markSecret() {
        guard let worker = unsafe lk_fuse_current_worker() else { return }
        unsafe worker.pointee.secret = true
    }
}
