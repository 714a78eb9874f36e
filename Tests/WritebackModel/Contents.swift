import Format

// The model counts in units of half a block, so that last blocks are partial half of the time. A unit has the number of
// the write that wrote it, and 0 is a unit of zeros.

/// Files have this many units at most.
let mostUnits = 4
let unitsPerBlock = 2
let blockCount = mostUnits / unitsPerBlock
let bytesPerUnit = BlockGeometry.blockSize / UInt64(unitsPerBlock)

typealias Units = SIMD4<UInt8>

/// A block as it was sealed: it verifies at this length alone.
struct Sealed: Hashable {
    var count: Int
    var first: UInt8
    var second: UInt8

    /// Block `block` of a file of these units that ends after `length` units.
    init(_ units: Units, block: Int, length: Int) {
        count = min(unitsPerBlock, length - block * unitsPerBlock)
        first = units[block * unitsPerBlock]
        second = count > 1 ? units[block * unitsPerBlock + 1] : 0
    }
}

/// What a block's place in the backing file holds.
enum Cell: Hashable {
    /// Nothing, or zeros, which do not verify.
    case absent
    case sealed(Sealed)
    /// A write that a crash has torn.
    case torn
}

/// What the model knows of a header.
struct ModelHeader: Hashable {
    var generation: UInt64
    /// In units.
    var length: Int
    /// In units.
    var provisional: Int
    /// The names that it is bound to, as bits.
    var names: UInt8
}

/// Bindings in an attribute: they count for headers up to this generation.
struct ModelPending: Hashable {
    var names: UInt8
    var generation: UInt64
}

/// A name, and the attribute that goes with it: changes of both reach an ordered disk in their order.
struct Metadata: Hashable {
    /// 0 if the file has no name.
    var name: UInt8
    var pending: ModelPending?
}

enum Record: Hashable {
    case intent(name: UInt8, low: UInt64, high: UInt64)
    case block(Int, Sealed)
    case header(ModelHeader)
    case forget
}
