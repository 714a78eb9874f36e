import Crypto
import TestSecrets
import Testing

@testable import Keybag

@Suite struct VaultProofTests {
    @Test func asText() throws {
        let proof = VaultProof((0..<16).map { 16 * $0 + 7 })
        #expect(proof.text == "0717-2737-4757-6777-8797-a7b7-c7d7-e7f7")
        #expect(VaultProof(proof.text) == proof)
        #expect(VaultProof(" 0717 2737 47576777 8797A7B7-C7D7-E7F7\n") == proof)
        for text in ["", "0717", proof.text + "0", String(proof.text.dropLast()), proof.text.replacing("e", with: "g")]
        {
            #expect(VaultProof(text) == nil, "\(text)")
        }
    }

    /// docs/FORMAT.md, computed without this program.
    @Test func asTheFormatSays() throws {
        let vectors = try Vectors("keybag")
        let folder = try Folder()
        try folder.write(vectors.bytes("keybag"), to: "lk.keybag")
        let escrow = try Credential(.escrowKey, reading: secret(vectors.text("escrowPrivateKey")))
        #expect(try OpenKeybag.check(escrow, in: folder.store()) == VaultProof(vectors.bytes("vaultProof")))
    }

    @Test func staysUntilThereAreNewKeys() throws {
        let vault = try Vault()
        let escrow = try X25519.generate()
        let private64 = try EscrowKey.encode(escrow.privateKey)
        let keybag = try vault.open()
        #expect(keybag.proof == nil)
        let by = try Credential(.passcode, reading: secret("passcode"))
        _ = try keybag.addSlot(NewSlot(escrow: escrow.publicKey), opening: by)
        let proof = try #require(keybag.proof)
        #expect(try OpenKeybag.check(Credential(recoveryKey: vault.recoveryKey), in: vault.folder.store()) == proof)
        try keybag.changePasscode(from: secret("passcode"), to: secret("new passcode"))
        let again = try vault.open()
        _ = try again.unlock(Credential(.escrowKey, reading: private64))
        #expect(again.proof == proof)
        let other = try Vault()
        #expect(try OpenKeybag.check(Credential(recoveryKey: other.recoveryKey), in: other.folder.store()) != proof)

        // Another vault may be mounted between the look and the recovery.
        let before = try vault.folder.files
        let wrong = VaultProof([UInt8](repeating: 1, count: 16))
        func recover(_ proof: VaultProof) throws -> OpenKeybag {
            try OpenKeybag.recover(
                in: vault.folder.store(), by: Credential(.escrowKey, reading: private64),
                newDeviceKey: DeviceKey(generatedFor: vault.volume), newPasscode: secret("another passcode"),
                cost: .minimum, proof: proof)
        }
        #expect(failure { _ = try recover(wrong) } == .otherProof)
        #expect(try vault.folder.files == before)
        #expect(try recover(proof).proof == proof)
    }
}
