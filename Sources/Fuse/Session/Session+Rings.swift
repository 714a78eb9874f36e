import Posix

extension Session {
    /// Threads that keep to /dev/fuse beside rings: for FUSE_INIT, what the kernel forgets, and interruptions.
    private static let besideRings = 2

    /// Starts the threads with rings if they are wanted and can be had, and those for /dev/fuse beside them.
    ///
    /// - Returns: the threads so far, which is none without rings, and why there are no more.
    func startRings(_ threads: Int) -> (workers: [Worker], failure: Errno?) {
        let rings: Rings
        do throws(Errno) {
            guard configuration.transport == .ring else { return withoutRings(.notWanted) }
            if let problem = RingSwitch.problem { return withoutRings(problem) }
            rings = try Rings(
                device, threads: threads, payload: configuration.ringPayload,
                short: configuration.shortSlotsForTest,
                refused: { [weak self] error in self?.refuseRings(error) })
        } catch {
            refuseRings(error)
            return ([], nil)
        }
        var (workers, failure): ([Worker], Errno?) = ([], nil)
        // First: without one of them, no request would ever be answered.
        for _ in 0..<Self.besideRings where failure == nil {
            (workers, failure) = Self.adding(to: workers) { [self] in
                rings.awaitPrepared()
                serveDevice()
                rings.stop()
            }
        }
        for body in rings.bodies(self) where failure == nil && !workers.isEmpty {
            (workers, failure) = Self.adding(to: workers) { [self] in if body() { serveDevice() } }
        }
        do throws(Errno) {
            if let failure { throw failure }
            try rings.awaitReady()
            withState { $0.rings = rings }
        } catch {
            refuseRings(error)
            rings.begin(false)
        }
        rings.prepared()
        return (workers, failure)
    }

    private func refuseRings(_ error: Errno) {
        Log.emit(.info, "requests come by /dev/fuse: the kernel has refused io_uring: \(error)\n")
        decide(.device(.refused(error)))
    }

    private func withoutRings(_ reason: TransportUse.NoRing) -> (workers: [Worker], failure: Errno?) {
        decide(.device(reason))
        return ([], nil)
    }
}
