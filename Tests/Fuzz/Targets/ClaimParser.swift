import Format

/// A claim, without its sum.
final class ClaimParser: FuzzedParser {
    init() {}

    func run(_ input: [UInt8]) throws(Finding) {
        guard let record = try? unsafe ClaimRecord(decoding: input.span.bytes) else { return }
        try demand(input.count == ClaimRecord.byteCount, "a claim of \(input.count) bytes")
        try demand(record.encoded == Array(input.prefix(record.encoded.count)), "a claim that is written otherwise")
        try demand(ClaimRecord.leases.contains(record.lease), "a lease of \(record.lease) ms")
        try demand(record.epoch <= ClaimRecord.largestEpoch, "an epoch of \(record.epoch)")
    }
}
