import CFuse
import Posix

/// The right to answer one request, and the duty to.
///
/// It is answered exactly once, by `succeed` or `fail`, on any thread, also long after the handler has returned; the
/// process that asked sleeps until then. All replies must be answered for `Session.run` to return. One that is dropped
/// answers EIO, and is a mistake that traps in debug builds.
///
/// `succeed` returns false when the kernel did not take the answer because the request was interrupted or the
/// connection has ended. What the answer handed over (a lookup, a handle) then stays with the file system, which must
/// undo it: there will be no `forget` and no `release`. (`run` does not wait for that.)
@safe
public struct Reply<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    // Unchecked: libfuse allows one answer from any thread, and ownership sees to it that there is only one.
    private let request: fuse_req_t
    /// The most bytes that the answer may have, for those answers that have a size.
    let limit: Int
    private let call: StaleAnswers.Call

    /// To be called on the thread that received the request.
    init(_ request: fuse_req_t, limit: Int = 0) {
        unsafe self.request = request
        call = StaleAnswers.Call(thread: unsafe fuse_req_ctx(request).pointee.pid, opcode: Session.currentOpcode)
        self.limit = limit
    }

    deinit {
        assertionFailure("a FUSE request was dropped without an answer")
        let session = unsafe Session.of(request)
        unsafe fuse_reply_err(request, Errno.EIO.rawValue)
        session.use.release()
    }

    /// Answers with an error. ESTALE has the kernel look the path up again and repeat the call; the repeated one is
    /// answered ENOENT instead.
    ///
    /// Source: fuse_reply_err.
    public consuming func fail(_ error: Errno) {
        let error = unsafe Session.of(request).stale.answer(to: call, error)
        _ = unsafe send { request in unsafe fuse_reply_err(request, error.rawValue) }
    }

    /// True when the process that asked has been sent a signal and would rather have EINTR than wait.
    ///
    /// Source: fuse_req_interrupted.
    public var isInterrupted: Bool {
        unsafe fuse_req_interrupted(request) != 0
    }

    /// Has `FileSystem.interrupted` called once `isInterrupted` has become true; at once if it is.
    ///
    /// Source: fuse_req_interrupt_func.
    public func announceInterrupt() {
        unsafe fuse_req_interrupt_func(
            request, { request, _ in unsafe Session.of(request!).fileSystem.interrupted() }, nil)
    }

    /// Answers with what `send` sends, which also frees the request. False if the kernel did not take it.
    consuming func answer(_ send: (fuse_req_t) -> Int32) -> Bool {
        unsafe Session.of(request).stale.succeeded(call)
        return unsafe self.send(send)
    }

    private consuming func send(_ send: (fuse_req_t) -> Int32) -> Bool {
        let request = unsafe self.request
        discard self
        let session = unsafe Session.of(request)
        let result = unsafe send(request)
        session.use.release()
        return result == 0
    }
}

/// The answer "done", which carries nothing.
public enum Done {}
/// The answer that carries bytes which are lent: contents of a file.
public enum Bytes {}
/// The answer that carries a number of bytes.
public enum Count {}
/// The answer that carries an offset.
public enum Offset {}
/// The answer that carries the target of a symbolic link.
public enum LinkTarget {}
/// The answer that carries the value of an extended attribute.
public enum AttributeValue {}
/// The answer that carries the names of extended attributes.
public enum AttributeNames {}
