import CLinux
import Failure
import Glibc
import Posix

/// One client of a server: reads calls and answers them, until the client or the server ends the connection.
package struct ControlConnection: ~Copyable {
    let server: ControlServer
    var stream: MessageStream
    /// Whether it has a thread of its own. If not, other clients wait for it: it gets little time, and no call that
    /// waits.
    let isAlone: Bool
    /// The number of the lock that this client has requested: only it may take that back.
    private var begunLock: UInt64?
    /// Set by a client that wants no request to wait, for as long as it is connected.
    private var interruption: WaitingInterruption?

    /// The socket is connected and non-blocking.
    package init(server: ControlServer, socket: Descriptor, isAlone: Bool = true) {
        self.server = server
        self.isAlone = isAlone
        stream = MessageStream(socket: socket)
    }

    mutating func serve() {
        do throws(Failure) {
            while try answerNext() {}
        } catch {
            // The client has closed the connection, is too slow, or does not speak Varlink: the connection ends.
        }
    }

    /// Waits for a call, as long as the server's limits allow, and answers it; false if the client has closed the
    /// connection between two calls.
    ///
    /// - Throws: if the connection must end; after `timedOut` without a complete call, it may go on.
    package mutating func answerNext() throws(Failure) -> Bool {
        let limits = server.limits
        // Only this connection can take its lock back, so it stays until then.
        let rest = begunLock == nil ? 0 : server.service.status.ownGraceRemaining ?? 0
        let idle = isAlone ? max(limits.idle, rest) : min(limits.idle, 1)
        guard let message = try stream.receive(idle: .after(seconds: idle), within: min(limits.message, idle)) else {
            return false
        }
        guard let frame = try? message.decode(CallFrame.self) else { throw .malformed("not a call") }
        try answer(Call(frame: frame, message: message))
        return true
    }

    /// A call that was received.
    struct Call {
        let frame: CallFrame
        let message: Message

        func parameters<Parameters: Decodable>(_ type: Parameters.Type) throws(Failure) -> Parameters {
            try message.decode(CallParameters<Parameters>.self).parameters
        }

        /// The parameters of a method that has only optional ones, and so may be called without any.
        func optionalParameters<Parameters: Decodable>(or none: Parameters) throws(Failure) -> Parameters {
            try message.decode(OptionalCallParameters<Parameters>.self).parameters ?? none
        }

        /// The descriptor that a parameter names by its position among the descriptors of the message.
        func descriptor(_ position: Int, _ parameter: String) throws(Failure) -> Descriptor {
            guard message.descriptors.indices.contains(position) else { throw .invalidParameter(parameter: parameter) }
            return message.descriptors[position]
        }
    }

    private mutating func answer(_ call: Call) throws(Failure) {
        if call.frame.method == "io.latchkey.Monitor", call.frame.more == true {
            return try monitor(call)
        }
        if call.frame.method == "io.latchkey.Hold", call.frame.more == true { return try hold(call) }
        let reply: Message
        do throws(Failure) {
            reply = try perform(call)
        } catch {
            // Also if the reply cannot be sent because the client has gone.
            defer { if case .erased = error { server.service.endErased() } }
            reply = try .failure(error, server.words)
            if call.frame.oneway != true { try send(reply) }
            return
        }
        defer {
            if ["io.latchkey.Erase", "io.latchkey.EraseKeybag"].contains(call.frame.method) {
                server.service.endErased()
            }
        }
        if call.frame.oneway != true { try send(reply) }
    }

    func send(_ message: Message) throws(Failure) {
        try stream.send(message, by: .after(seconds: server.limits.message))
    }

    private mutating func perform(_ call: Call) throws(Failure) -> Message {
        let service = server.service
        switch call.frame.method {
        case "org.varlink.service.GetInfo":
            return try .success(server.information)
        case "org.varlink.service.GetInterfaceDescription":
            let name = try call.parameters(InterfaceParameters.self).interface
            guard let description = InterfaceDescription.named(name) else { throw .interfaceNotFound(interface: name) }
            return try .success(InterfaceReply(description: description))
        case "io.latchkey.Status":
            return try .success(StatusReply(status: service.status))
        case "io.latchkey.Lock":
            let parameters = try call.optionalParameters(or: LockParameters())
            let status = service.lock(
                now: parameters.now ?? false, deep: parameters.deep ?? false, begun: &begunLock)
            // On a shared thread the answer comes at once: its state says that the lock is still under way.
            let waits = parameters.wait == true && isAlone
            return try .success(StatusReply(status: waits ? try statusAfterLocking() : status))
        case "io.latchkey.TakeBackLock":
            let status = begunLock.map(service.takeBackLock) ?? service.status
            begunLock = nil
            return try .success(StatusReply(status: status))
        case "io.latchkey.InterruptWaiting":
            if interruption == nil { interruption = service.interruptWaiting() }
            return try .success(StatusReply(status: service.status))
        case "io.latchkey.Unlock":
            let parameters = try call.parameters(UnlockParameters.self)
            let secret = try call.descriptor(parameters.secret, "secret")
            return try .success(StatusReply(status: try service.unlock(parameters.opener, secret: secret)))
        case "io.latchkey.ChangePasscode":
            let parameters = try call.parameters(ChangePasscodeParameters.self)
            let old = try call.descriptor(parameters.old, "old")
            let new = try call.descriptor(parameters.new, "new")
            let opener = parameters.opener
            guard [.passcode, .noPasscode].contains(opener.kind) else { throw .invalidParameter(parameter: "kind") }
            try service.changePasscode(opener, from: old, to: new, allowingWeak: parameters.weak ?? false)
            return try .success(NoParameters())
        case "io.latchkey.Slots":
            return try .success(SlotsReply(slots: service.slots))
        case "io.latchkey.AddSlot":
            return try .success(SlotReply(slot: try addSlot(call)))
        case "io.latchkey.RemoveSlot":
            let parameters = try call.parameters(RemoveSlotParameters.self)
            let secret = try call.descriptor(parameters.secret, "secret")
            try service.removeSlot(parameters.slot, opening: parameters.opener, secret: secret)
            return try .success(NoParameters())
        case "io.latchkey.TestSlot":
            let parameters = try call.parameters(UnlockParameters.self)
            let secret = try call.descriptor(parameters.secret, "secret")
            return try .success(SlotReply(slot: try service.testSlot(parameters.opener, secret: secret)))
        case "io.latchkey.Rotate":
            return try .success(StatusReply(status: try service.rotate(rotation(call))))
        case "io.latchkey.Explain":
            let parameters = try call.parameters(ExplainParameters.self)
            let file = try call.descriptor(parameters.file, "file")
            let name = try parameters.name.map { (bytes) throws(Failure) in
                guard let name = Name(bytes: bytes) else { throw .invalidParameter(parameter: "name") }
                return name
            }
            return try .success(ExplainReply(explanation: try service.explain(file, name)))
        case "io.latchkey.Accept":
            let parameters = try call.optionalParameters(or: AcceptParameters())
            try service.accept(try parameters.file.map { (file) throws(Failure) in try call.descriptor(file, "file") })
            return try .success(NoParameters())
        case "io.latchkey.Classes":
            let inodes = try call.parameters(ClassesParameters.self).inodes
            guard inodes.count <= ClassesParameters.limit else { throw .invalidParameter(parameter: "inodes") }
            return try .success(ClassesReply(classes: service.classes(ofInodes: inodes)))
        case "io.latchkey.Unmount":
            let parameters = try call.optionalParameters(or: UnmountParameters())
            try service.unmount(lazily: parameters.lazy ?? false)
            return try .success(NoParameters())
        case "io.latchkey.Erase":
            return try .success(EraseReply(deviceKey: service.erase(keepingDeviceKey: false)))
        case "io.latchkey.EraseKeybag":
            _ = try service.erase(keepingDeviceKey: true)
            return try .success(NoParameters())
        case "io.latchkey.Monitor", "io.latchkey.Hold":
            throw .expectedMore
        case let method:
            let interface = method.lastIndex(of: ".").map { String(method[..<$0]) } ?? ""
            if InterfaceDescription.names.contains(interface) { throw .methodNotFound(method: method) }
            throw .interfaceNotFound(interface: interface)
        }
    }

    private func addSlot(_ call: Call) throws(Failure) -> Int {
        let parameters = try call.parameters(AddSlotParameters.self)
        let secret = try call.descriptor(parameters.secret, "secret")
        let new: NewSlotSource
        if parameters.securityKey != nil, parameters.newKind != .securityKey {
            throw .invalidParameter(parameter: "securityKey")
        }
        switch (parameters.newKind, parameters.new, parameters.publicKey) {
        case (.escrowKey, nil, let key?): new = .escrow(publicKey: key)
        case (.escrowKey, _, _): throw .invalidParameter(parameter: "publicKey")
        case (.noPasscode, _, _): throw .invalidParameter(parameter: "newKind")
        case (.securityKey, let position?, nil):
            guard let key = parameters.securityKey else { throw .invalidParameter(parameter: "securityKey") }
            new = .securityKey(key, try call.descriptor(position, "new"))
        case (let kind, let position?, nil):
            new = .secret(kind, try call.descriptor(position, "new"), allowingWeak: parameters.weak ?? false)
        default: throw .invalidParameter(parameter: "new")
        }
        return try server.service.addSlot(
            new, name: parameters.name ?? "", opening: parameters.opener, secret: secret)
    }

    private func rotation(_ call: Call) throws(Failure) -> NewRotation? {
        let parameters = try call.optionalParameters(or: RotateParameters())
        guard let position = parameters.secret else {
            guard parameters == RotateParameters() else { throw .invalidParameter(parameter: "secret") }
            return nil
        }
        let opener = Opener(parameters.kind, lastGuess: parameters.lastGuess)
        // Slots that need no device key are replaced by a rotation.
        guard opener.kind != .recoveryKey, opener.kind != .escrowKey else { throw .invalidParameter(parameter: "kind") }
        let key = try parameters.recoveryKey.map { (position) throws(Failure) in
            try call.descriptor(position, "recoveryKey")
        }
        return NewRotation(
            opener, secret: try call.descriptor(position, "secret"), recoveryKey: key,
            dropping: parameters.dropping ?? [])
    }

    private func statusAfterLocking() throws(Failure) -> Status {
        var result: Status?
        try watch { change throws(Failure) in
            if change.status.state != .locking { result = change.status }
            return result == nil
        }
        guard let result else { throw .disconnected }
        return result
    }

    /// Sends changes until the client closes the connection, or does not read. A throw in the middle of a reply ends
    /// it.
    private func monitor(_ call: Call) throws(Failure) {
        let parameters: MonitorParameters
        do throws(Failure) {
            parameters = try call.optionalParameters(or: MonitorParameters())
        } catch {
            return try send(.failure(error, server.words))
        }
        guard isAlone, server.beginMonitor() else {
            try send(.failure(.tooManyMonitors, server.words))
            // Frees the connection for another client.
            throw .disconnected
        }
        defer { server.endMonitor() }
        try watch(after: parameters.position) { change throws(Failure) in
            try send(.success(change, continues: true))
            return true
        }
    }

    /// Calls `body` with the present status, or with the changes after a position, then with each change, until it
    /// returns false.
    ///
    /// - Throws: `disconnected` when the client closes the connection, which frees its thread, or when the server
    ///   stops; `timedOut` if the client was too slow for the changes.
    private func watch(
        after position: MonitorPosition? = nil, _ body: (StatusChange) throws(Failure) -> Bool
    ) throws(Failure) {
        let subscription = try server.service.subscribe(after: position)
        while true {
            guard let changes = subscription.take() else { throw .timedOut }
            for change in changes {
                if try !body(change) { return }
            }
            // Only for the hangup of the socket, which poll(2) reports always.
            var entries = [
                pollfd(fd: subscription.wakeup.readable.number, events: Int16(POLLIN), revents: 0),
                pollfd(fd: server.stopping.readable.number, events: Int16(POLLIN), revents: 0),
                pollfd(fd: stream.socket.number, events: 0, revents: 0),
            ]
            try poll(&entries, by: .never)
            guard entries[1].revents == 0, entries[2].revents == 0 else { throw .disconnected }
        }
    }
}
