public import Posix

/// The right, and the duty, to answer one request.
///
/// It is answered exactly once, by `succeed` or `fail`, on any thread, also long after the handler has returned; the
/// calling program sleeps until then. `Session.run` returns only after all replies were answered. A dropped reply
/// answers EIO; that is a programming error, and traps in debug builds.
///
/// `succeed` returns false if the kernel did not take the answer, because the connection has ended. Then the file
/// system must undo what the answer handed over (a lookup, a handle): no `forget` and no `release` will come. (`run`
/// does not wait for that.) On a ring it may return true although the connection has ended; then `destroyed` follows.
@safe
public struct Reply<Value: ~Copyable>: ~Copyable, Sendable {
    private let port: AnswerPort
    /// The largest size of the answer in bytes, for answers that have a size.
    let limit: Int

    init(_ port: AnswerPort, limit: Int) {
        self.port = port
        self.limit = limit
    }

    deinit {
        assertionFailure("a FUSE request was dropped without an answer")
        port.fail(.EIO)
    }

    /// Answers with an error. On ESTALE the kernel looks the path up again and repeats the call; a second ESTALE
    /// becomes ENOENT.
    public consuming func fail(_ error: Errno) { released().fail(error) }

    /// Whether the calling program was sent a signal and so expects EINTR instead of a longer wait.
    ///
    /// `FileSystem.interrupted` is called when it becomes true.
    public var isInterrupted: Bool { port.session.interrupts.contains(port.unique) }

    /// Gives up the duty to answer; the caller has it now.
    consuming func released() -> AnswerPort {
        let port = self.port
        discard self
        return port
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
