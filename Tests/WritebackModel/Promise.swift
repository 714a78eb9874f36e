/// What a crash may leave, as docs/DURABILITY.md promises it.
struct Promise: Hashable {
    /// The contents that may be found: for each unit the writes that it may have, and the lengths, as bits.
    struct Contents: Hashable {
        private var units: SIMD4<UInt64>
        private var lengths: UInt8

        /// Just these.
        init(_ current: Units, length: Int) {
            units = SIMD4(repeating: 1)
            for unit in 0..<length { units[unit] = 1 << UInt64(current[unit]) }
            lengths = 1 << UInt8(length)
        }

        private mutating func allow(_ write: UInt8, at unit: Int, length: Int) {
            units[unit] |= 1 << UInt64(write)
            lengths |= 1 << UInt8(length)
        }

        /// A unit was written, or those behind the length were cut off.
        mutating func allow(_ change: Change) {
            switch change {
            case .write(let number, let unit, let length): allow(number, at: unit, length: length)
            case .cut(let length): allowCut(at: length)
            }
        }

        /// What was cut off reads as zeros if the file grows again.
        private mutating func allowCut(at length: Int) {
            for unit in length..<mostUnits { units[unit] |= 1 }
            lengths |= 1 << UInt8(length)
        }

        func allow(_ found: Units, length: Int) -> Bool {
            guard lengths & 1 << UInt8(length) != 0 else { return false }
            return (0..<length).allSatisfy { units[$0] & 1 << UInt64(found[$0]) != 0 }
        }
    }

    enum Change {
        case write(UInt8, unit: Int, length: Int)
        case cut(Int)
    }

    var contents: Contents
    /// What may be found at the name of the last rename, if another file was replaced there.
    var replaced: Contents?
    var replacedAt: UInt8 = 0
    /// The names under which the file may be found, as bits.
    var names: UInt8 = 0
    var mayBeMissing = true
    /// No sync has returned: the header may be missing.
    var mayBeVoid = true
    /// The file has got a name that fsync(2) of the file makes durable.
    var hasGotName = false

    init(_ current: Units, length: Int) { contents = Contents(current, length: length) }

    /// The reason why a finding breaks the promise; nil if it keeps it.
    func isBroken(by finding: Finding, at name: UInt8) -> String? {
        switch finding {
        case .missing: mayBeMissing ? nil : "the name is gone"
        case .void:
            if !mayBeVoid {
                "the header is gone"
            } else if replaced != nil, replacedAt == name {
                "what replaced another file is gone"
            } else {
                nil
            }
        case .refused: "the header has another name"
        case .damaged(let block): "block \(block) is damaged"
        case .file(let length, let units):
            if names & name == 0 {
                "an earlier name is back"
            } else if !contents.allow(units, length: length) {
                "the contents are others: \(length) \(units)"
            } else if let replaced, replacedAt == name, !replaced.allow(units, length: length) {
                "what replaced another file is not whole: \(length) \(units)"
            } else {
                nil
            }
        }
    }
}
