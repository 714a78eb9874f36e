import Crypto
import SoftTPM
import TPM
import TestSecrets
import Testing

@Suite(.timeLimit(.minutes(10))) struct PolicyTests {
    let soft: SoftTPM

    init() throws {
        soft = try SoftTPM()
    }

    @Test(arguments: [true, false]) func registersMustNotChange(hasAuth: Bool) throws {
        let tpm = try soft.connect()
        let auth = try secret("right")
        let pcrs = PCRSelection.of(0, 7, 16)
        func unseal(_ sealed: SealedSecret) throws -> [UInt8] {
            try hasAuth
                ? tpm.unseal(sealed, auth: auth, pcrs: pcrs).exposed : tpm.unseal(sealed, pcrs: pcrs).exposed
        }
        let sealed =
            try hasAuth
            ? tpm.seal(secret("one"), auth: auth, pcrs: pcrs) : tpm.seal(secret("one"), pcrs: pcrs)
        try soft.extend(pcr: 8)
        #expect(try unseal(sealed) == Array("one".utf8))
        try soft.extend(pcr: 7)
        #expect(throws: TPMError.pcrsDiffer) { _ = try unseal(sealed) }
        if hasAuth {
            // The policy is checked before the authorization value, so the attempt is not counted.
            #expect(throws: TPMError.pcrsDiffer) { _ = try tpm.unseal(sealed, auth: secret("wrong"), pcrs: pcrs) }
        }
        #expect(try tpm.lockout.failedTries == 0)
        // The registers are the same again after a start that measures the same.
        try soft.powerCycle()
        #expect(try unseal(sealed) == Array("one".utf8))
    }

    @Test func theSelectionMustBeTheSame() throws {
        let tpm = try soft.connect()
        let sealed = try tpm.seal(secret("one"), pcrs: .of(0, 7))
        for other in [PCRSelection.none, .of(0), .of(0, 7, 8), .of(1, 8)] {
            #expect(throws: TPMError.pcrsDiffer) { _ = try tpm.unseal(sealed, pcrs: other) }
        }
        let plain = try tpm.seal(secret("one"))
        #expect(throws: TPMError.pcrsDiffer) { _ = try tpm.unseal(plain, pcrs: .of(0)) }
    }

    @Test func theValueIsNeededToo() throws {
        let tpm = try soft.connect()
        let sealed = try tpm.seal(secret("one"), auth: secret("right"), pcrs: .of(0))
        #expect(throws: TPMError.wrongAuthorization) { _ = try tpm.unseal(sealed, pcrs: .of(0)) }
        #expect(throws: TPMError.wrongAuthorization) {
            _ = try tpm.unseal(sealed, auth: secret("wrong"), pcrs: .of(0))
        }
        // The authorization value alone does not satisfy the policy.
        #expect(throws: TPMError.pcrsDiffer) { _ = try tpm.unseal(sealed, auth: secret("right")) }
    }

    @Test func selectionsAreReadAndPrinted() {
        #expect(PCRSelection("0,2,7")?.mask == 0x85)
        #expect(PCRSelection("7,0,2,2")?.description == "0,2,7")
        #expect(PCRSelection("")?.isEmpty == true)
        #expect(PCRSelection(0..<24)?.mask == 0xff_ffff)
        #expect(PCRSelection(mask: 0x80_0001)?.registers == [0, 23])
        #expect(PCRSelection(mask: 0x0100_0000) == nil)
        for text in ["24", "-1", "+1", " 1", "1,", ",", "1,,2", "x", "0x1", "٣", "99999999999999999999"] {
            #expect(PCRSelection(text) == nil, "\(text)")
        }
        #expect(PCRSelection([3, 24]) == nil)
    }
}
