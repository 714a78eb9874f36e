import Failure
import Glibc
import Posix

extension ControlConnection {
    /// Holds the lock until the client closes the connection, or the hold ends, which the client is told.
    mutating func hold(_ call: Call) throws(Failure) {
        let hold: GrantedHold
        do throws(Failure) { hold = try begunHold(call) } catch {
            try send(.failure(error, server.words))
            // Frees the connection for another client.
            if case .tooManyHolds = error { throw .disconnected }
            return
        }
        defer {
            hold.release()
            server.endHold()
        }
        try send(.success(HoldReply(seconds: hold.seconds), continues: true))
        // Only for the hangup of the socket, which poll(2) reports always.
        var entries = [
            pollfd(fd: hold.ending.wakeup.readable.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: server.stopping.readable.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: stream.socket.number, events: 0, revents: 0),
        ]
        try poll(&entries, by: .never)
        guard let end = hold.ending.end, entries[2].revents == 0 else { throw .disconnected }
        try send(.success(HoldReply(seconds: hold.seconds, ended: end)))
    }

    /// Takes one of the server's holds, which `endHold` gives back.
    private func begunHold(_ call: Call) throws(Failure) -> GrantedHold {
        let parameters = try call.parameters(HoldParameters.self)
        let peer: PeerCredentials
        do { peer = try stream.socket.peerCredentials() } catch { throw .socket(error, doing: "ask who has connected") }
        // The process and its user are never what a client says.
        let wanted = Hold(
            pid: peer.process, uid: peer.user, command: parameters.command, because: parameters.because,
            seconds: parameters.seconds
        ).bounded
        // Bounded first: a number that is too large for a duration traps. One that is too small for it is no time.
        guard Duration.seconds(wanted.seconds) > .zero else { throw .invalidParameter(parameter: "seconds") }
        guard isAlone, server.beginHold() else { throw .tooManyHolds }
        do throws(Failure) { return try server.service.hold(wanted) } catch {
            server.endHold()
            throw error
        }
    }
}
