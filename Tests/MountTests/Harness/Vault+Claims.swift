import Foundation
import TestSupport

extension Vault {
    /// Leaves a claim of a machine that has died, which a program has to watch for 75 seconds.
    func plantClaim(epoch: UInt64 = 9) throws {
        let script = """
            import hashlib, os, sys
            os.makedirs(sys.argv[1] + "/lk.claims", exist_ok=True)
            epoch = int(sys.argv[2])
            record = b"LKCLAIM\\n" + bytes([1, 0, 2, 1]) + (15000).to_bytes(4, "little") + epoch.to_bytes(8, "little")
            record += bytes(16) + os.urandom(48) + bytes(224 - 88)
            with open(sys.argv[1] + "/lk.claims/lk.claim.%016x" % epoch, "wb") as file:
                file.write(record + hashlib.sha256(record).digest())
            """
        try run("python3", ["-c", script, path, "\(epoch)"])
    }
}
