import Crypto
import Foundation
import SoftTPM
import TPM
import TestSecrets
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct ConnectionTests {
    @Test(arguments: [
        "nonesuch", "nonesuch:a=b", "device:/nonexistent/tpm0", "device:/dev/null", "swtpm:path=/nonexistent/tpm", "",
    ])
    func aWrongWayLeadsToNoDevice(tcti: String) {
        #expect(throws: TPMError.noDevice) { _ = try TPM(tcti: tcti) }
    }

    @Test(.enabled(if: !FileManager.default.fileExists(atPath: "/dev/tpm0"), "this machine has a TPM"))
    func noneIsTold() {
        #expect(throws: TPMError.noDevice) { _ = try TPM() }
    }

    @Test func oneThatWentAwayIsTold() throws {
        let soft = try SoftTPM()
        defer { soft.switchOff() }
        let tpm = try soft.connect()
        let sealed = try tpm.seal(secret("one"))
        soft.switchOff()
        for _ in 0..<2 {
            #expect(throws: TPMError.noDevice) { _ = try tpm.unseal(sealed) }
        }
        #expect(throws: TPMError.noDevice) { _ = try soft.connect() }
    }

    @Test func anOwnerPasswordIsTold() throws {
        let soft = try SoftTPM()
        defer { soft.switchOff() }
        let tpm = try soft.connect()
        let sealed = try tpm.seal(secret("one"))
        try soft.setOwnerPassword("owner")
        #expect(throws: TPMError.noStorageKey) { _ = try tpm.seal(secret("one")) }
        #expect(throws: TPMError.noStorageKey) { _ = try tpm.unseal(sealed) }
    }

    @Test func errorsSayWhatTheyAre() {
        #expect(TPMError.other(0x921).description == "TPM response code 0x921")
        #expect(TPMError.crypto(.notAuthentic).description == "not authentic")
    }

    /// No secret stays in memory or in the traffic to the TPM.
    @Test func secretsAreNowhereElse() throws {
        let soft = try SoftTPM()
        defer { soft.switchOff() }
        let capture = soft.path("capture")
        let outcome = try attempt(
            Built.sealing, ["pcap:" + soft.tcti, capture],
            environment: Environment.plain.merging(["TCTI_PCAP_FILE": capture]) { $1 })
        #expect(outcome.status == 0, "\(outcome)")
    }
}
