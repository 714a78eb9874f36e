import CFuse
import Posix

/// A request on its way from the transport to the file system.
@safe
struct Incoming {
    let session: Session
    let received: Received
    let channel: Channel

    var node: NodeID { received.node }
    var fileSystem: any FileSystem { session.fileSystem }

    func caller(umask: UInt32 = 0) -> Request { Request(received.header, umask: umask) }

    /// Takes over the duty to answer; `Session.wait` waits for the answer.
    func reply<Value: ~Copyable>(limit: Int = 0) -> Reply<Value> {
        let isRunning = session.use.acquire()
        assert(isRunning, "a request after the workers have ended")
        return Reply(
            AnswerPort(session, unique: received.header.unique, channel, session.stale.call(received)), limit: limit)
    }

    /// Answers with an error before any reply was made.
    func refuse(_ error: Errno) {
        let reply: Reply<Done> = reply()
        reply.fail(error)
    }
}

extension StaleAnswers {
    func call(_ received: Received) -> Call {
        var call = Call(thread: Int32(bitPattern: received.header.pid), opcode: received.header.opcode)
        if call.isLookup, isAsked {
            var hasher = Hasher()
            hasher.combine(received.header.nodeid)
            unsafe hasher.combine(bytes: received.arguments.bytes)
            call.name = hasher.finalize()
        }
        return call
    }
}
