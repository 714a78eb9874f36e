internal import CBus

extension BusMessage {
    /// Appends an argument to a call.
    func append(_ argument: BusArgument) throws(BusError) {
        switch argument {
        case .string(let text): try check(unsafe lk_bus_append(pointer, letter("s"), text))
        case .int32(var value): try check(unsafe lk_bus_append(pointer, letter("i"), &value))
        case .uint32(var value): try check(unsafe lk_bus_append(pointer, letter("u"), &value))
        case .byte(var value): try check(unsafe lk_bus_append(pointer, letter("y"), &value))
        case .boolean(let value):
            var number = Int32(value ? 1 : 0)
            try check(unsafe lk_bus_append(pointer, letter("b"), &number))
        case .strings(let texts):
            try inContainer("a", "s") { () throws(BusError) in
                for text in texts { try append(.string(text)) }
            }
        case .options(let options):
            try inContainer("a", "{sv}") { () throws(BusError) in
                for (key, value) in options {
                    guard let signature = value.signature else { throw .connection(.EINVAL) }
                    try inContainer("e", "sv") { () throws(BusError) in
                        try append(.string(key))
                        try inContainer("v", signature) { () throws(BusError) in try append(value) }
                    }
                }
            }
        }
    }

    private func inContainer(
        _ type: UnicodeScalar, _ contents: String, _ body: () throws(BusError) -> Void
    ) throws(BusError) {
        try check(unsafe lk_bus_begin(pointer, letter(type), contents))
        try body()
        try check(unsafe lk_bus_end(pointer))
    }

    private func letter(_ type: UnicodeScalar) -> CChar { CChar(bitPattern: UInt8(ascii: type)) }
}
