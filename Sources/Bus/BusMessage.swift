internal import CBus

/// A message of a connection, released with its last reference; one thread at a time.
@safe
final class BusMessage {
    let pointer: OpaquePointer

    /// Takes ownership.
    init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe lk_bus_release(pointer) }

    /// Of a signal.
    var sender: String { unsafe text(unsafe lk_bus_sender(pointer)) }
    var path: String { unsafe text(unsafe lk_bus_path(pointer)) }
    var interface: String { unsafe text(unsafe lk_bus_interface(pointer)) }
    var member: String { unsafe text(unsafe lk_bus_member(pointer)) }

    private func text(_ characters: UnsafePointer<CChar>?) -> String {
        guard let characters = unsafe characters else { return "" }
        return unsafe String(cString: characters)
    }
}
