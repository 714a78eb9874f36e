public import Failure

/// A counter in a chip that says which generation of the keybag this machine has seen at least.
///
/// Safe for any number of threads.
public protocol GenerationCounter: Sendable {
    /// The lowest generation that a keybag may have.
    func lowest() throws(Failure) -> UInt64
    /// Raises the lowest generation; at most `mostSteps` steps in one call, since a chip counts one by one and wears.
    /// Does nothing if it is that high already.
    func raise(to generation: UInt64) throws(Failure)
    /// Begins anew at a generation, which may be lower: the owner has accepted an older keybag.
    func restart(at generation: UInt64) throws(Failure)
    /// Gives the chip's memory back once the device key is of no use any more. A failure does no harm: the counter then
    /// stays there unused.
    func remove()
}

extension GenerationCounter {
    /// How many steps `raise` makes at most.
    public static var mostSteps: UInt64 { 64 }

    public func remove() {}
}
