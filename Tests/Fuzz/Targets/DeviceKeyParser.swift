import DeviceKeys
import Failure
import Format
import Keybag
import Posix

/// The device key file.
final class DeviceKeyParser: FuzzedParser {
    init() {}

    func run(_ input: [UInt8]) throws(Finding) {
        let file = try demandSuccess(of: "making a file") { () throws(Errno) in
            let file = try Descriptor.memoryFile("device key")
            try unsafe file.write(input.span.bytes, at: 0)
            return file
        }
        let isKey =
            input.count == 64 && input.starts(with: "LKDEVKEY".utf8) && input[8] == 1
            && input[9..<16].allSatisfy { $0 == 0 }
        let path = "/proc/self/fd/\(file.number)"
        // A key that a TPM has sealed is recognised, and the TPM is not asked here.
        let kind = Result { () throws(Failure) in try DeviceKeyLocation.kind(at: Path(path)) }
        switch kind {
        case .success(.software): try demand(isKey, "a device key that is none")
        case .success(.tpm2): return try demand(input.starts(with: "LKTPMKEY".utf8), "what no TPM has sealed")
        case .failure(.notADeviceKey): try demand(!isKey, "a device key that is taken for none")
        case .failure(let error): throw Finding("telling what it is: \(error)")
        }
        let volume = Result { () throws(Failure) in try DeviceKeyFile.load(path: Path(path)).volume }
        switch volume {
        case .success(let volume):
            try demand(isKey && volume.bytes == Array(input[16..<32]), "a device key of \(input.count) bytes")
        case .failure(.notADeviceKey): try demand(!isKey, "a device key that is taken for none")
        case .failure(let error): throw Finding("loading: \(error)")
        }
    }
}
