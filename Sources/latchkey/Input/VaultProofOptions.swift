import ArgumentParser
import Format
import Keybag
import Posix

/// How the user who opens a vault with an escrow key makes sure that it is the enrolled one.
struct VaultProofOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "With --escrow-key: the vault's proof, as latchkey init or slot add showed it. Any other vault is refused.",
            valueName: "text"))
    var vaultProof: String?

    @Flag(
        help: """
            With --escrow-key: take a vault whose proof was not noted. Another person may have made it, and may read it.
            """)
    var acceptUnproven = false

    func validate() throws {
        guard let vaultProof else { return }
        guard VaultProof(vaultProof) != nil else {
            throw ValidationError("A vault's proof has 32 hexadecimal digits in groups of four.")
        }
        if acceptUnproven { throw ValidationError("--vault-proof and --accept-unproven exclude each other.") }
    }

    var isGiven: Bool { vaultProof != nil || acceptUnproven }

    /// Throws unless the vault has the proof that was given, or the user accepts it without a proof.
    ///
    /// - Parameter found: the vault's proof, derived from the keys that the escrow key has released.
    func require(_ found: VaultProof, of vault: Path, _ volume: VolumeIdentifier) throws(CommandError) {
        if let given = vaultProof.flatMap({ VaultProof($0) }) {
            guard given == found else { throw CommandError(otherProofThan: vault) }
            return
        }
        // The message does not show the proof that was found: a user who copied it here would compare nothing.
        let doubt = """
            nothing shows that the vault \(vault) (volume \(volume)) is the one that was enrolled: with the public \
            key, another person can make a vault that this escrow key opens, and read what is written into it
            """
        if acceptUnproven { return Standard.error("Beware: \(doubt).") }
        guard let terminal = Terminal.standardInput() else {
            throw CommandError(
                .usage, "\(doubt); nothing was changed",
                try: "the same with --vault-proof TEXT   (from where it was noted at latchkey init or slot add)",
                "the same with --accept-unproven   (if it was never noted, and you know where the vault comes from)")
        }
        Standard.error("Beware: \(doubt).")
        let answer: String
        do throws(SecretReader.Failure) {
            answer = try terminal.text(prompt: "Type the proof that was noted, or unproven to take the vault without: ")
        } catch { throw CommandError(.failed, "nothing was changed") }
        guard answer != "unproven" else { return }
        guard let given = VaultProof(answer) else {
            throw CommandError(.failed, "this is no vault's proof: that has 32 hexadecimal digits; nothing was changed")
        }
        guard given == found else { throw CommandError(otherProofThan: vault) }
    }
}

extension CommandError {
    /// The error for a proof that is not the vault's.
    init(otherProofThan vault: Path) {
        self.init(
            .damaged,
            """
            the proof is not that of the vault \(vault): another person made it, latchkey rotate gave it new keys \
            after the proof was noted, or the proof is mistyped; nothing was changed
            """,
            try: "latchkey slot test \(vault.quoted)   (shows the proof, where the vault's device key and passcode are)"
        )
    }
}

/// Shows the proof, which the holder of an escrow key must keep.
func tellOfProof(_ proof: String, isNew: Bool = false) {
    Standard.output(
        """
        The vault's proof is \(isNew ? "another one now: " : "")\(proof)
        Give it to the holder of the escrow key, by another way than the vault. With it, latchkey mount --recovery
        --escrow-key recognises this vault, and refuses one that another person made. It is no secret.
        """)
}
