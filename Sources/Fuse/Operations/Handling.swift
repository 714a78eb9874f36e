import CFuse

/// The request that this thread handles.
enum Handling {
    /// Runs the handler of a request.
    ///
    /// - Parameter slot: the memory that holds it; nil for a request from /dev/fuse.
    /// - Returns: whether the handler has called `markSecret`.
    static func run(_ slot: RingSlot?, _ body: () -> Void) -> Bool {
        let handling = unsafe lk_fuse_handling()!
        unsafe handling.pointee.slot = slot.map { unsafe Unmanaged.passUnretained($0).toOpaque() }
        unsafe handling.pointee.is_secret = false
        body()
        unsafe handling.pointee.slot = nil
        return unsafe handling.pointee.is_secret
    }

    static func markSecret() {
        let handling = unsafe lk_fuse_handling()!
        unsafe handling.pointee.is_secret = true
        guard let slot = unsafe handling.pointee.slot else { return }
        unsafe Unmanaged<RingSlot>.fromOpaque(slot).takeUnretainedValue().isSecret = true
    }
}
