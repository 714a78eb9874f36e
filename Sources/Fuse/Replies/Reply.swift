import CFuse
import Posix

/// The right, and the duty, to answer one request.
///
/// It is answered exactly once, by `succeed` or `fail`, on any thread, also long after the handler has returned; the
/// calling program sleeps until then. `Session.run` returns only after all replies were answered. A dropped reply
/// answers EIO; that is a programming error, and traps in debug builds.
///
/// `succeed` returns false if the kernel did not take the answer, because the request was interrupted or the connection
/// has ended. Then the file system must undo what the answer handed over (a lookup, a handle): no `forget` and no
/// `release` will come. (`run` does not wait for that.)
@safe
public struct Reply<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    // Unchecked: libfuse accepts one answer from any thread, and ownership ensures that there is only one.
    private let request: fuse_req_t
    /// The largest size of the answer in bytes, for answers that have a size.
    let limit: Int
    private let call: StaleAnswers.Call

    /// Must be called on the thread that received the request.
    init(_ request: fuse_req_t, limit: Int = 0) {
        unsafe self.request = request
        call = StaleAnswers.Call(
            thread: unsafe fuse_req_ctx(request).pointee.pid, opcode: Session.currentOpcode, name: Session.currentName)
        self.limit = limit
    }

    deinit {
        assertionFailure("a FUSE request was dropped without an answer")
        let session = unsafe Session.of(request)
        unsafe fuse_reply_err(request, Errno.EIO.rawValue)
        session.use.release()
    }

    /// Answers with an error. On ESTALE the kernel looks the path up again and repeats the call; a second ESTALE
    /// becomes ENOENT.
    ///
    /// Source: fuse_reply_err.
    public consuming func fail(_ error: Errno) {
        let error = unsafe Session.of(request).stale.answer(to: call, error)
        _ = unsafe send { request in unsafe fuse_reply_err(request, error.rawValue) }
    }

    /// Whether the calling program was sent a signal and so expects EINTR instead of a longer wait.
    ///
    /// Source: fuse_req_interrupted.
    public var isInterrupted: Bool {
        unsafe fuse_req_interrupted(request) != 0
    }

    /// Calls `FileSystem.interrupted` when `isInterrupted` becomes true; at once if it is true already.
    ///
    /// Source: fuse_req_interrupt_func.
    public func announceInterrupt() {
        unsafe fuse_req_interrupt_func(
            request, { request, _ in unsafe Session.of(request!).fileSystem.interrupted() }, nil)
    }

    /// Answers by `send`, which also frees the request. False if the kernel did not take the answer.
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

/// An answer without a value: success.
public enum Done {}
/// An answer with borrowed bytes: contents of a file.
public enum Bytes {}
/// An answer with a number of bytes.
public enum Count {}
/// An answer with an offset.
public enum Offset {}
/// An answer with the target of a symbolic link.
public enum LinkTarget {}
/// An answer with the value of an extended attribute.
public enum AttributeValue {}
/// An answer with the names of extended attributes.
public enum AttributeNames {}
