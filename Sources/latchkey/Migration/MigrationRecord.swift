import Migration
import Posix

/// What the next run must know of an interrupted one.
struct MigrationRecord: Equatable {
    enum Step: String {
        /// Files are being moved.
        case moving
        /// All are at the destination: the rest is to put the vault into its place, or to remove it.
        case moved
        /// Of `--undo`: all are back where they came from.
        case returned
    }

    var direction: Migration.Direction
    var step = Step.moving
    /// The vault's name in the configuration.
    var name: String
    /// Where the vault will lie, or lies.
    var vault: Path
    /// Nil for the default path.
    var deviceKey: Path?
    var keepsOriginals = false
    var locksWithScreen = true
    /// The file with the recovery key of a new vault, if it was not shown.
    var recoveryKey: Path?
    /// The file for the digests, if one was asked for.
    var digests: Path?

    init(_ direction: Migration.Direction, name: String, vault: Path) {
        self.direction = direction
        self.name = name
        self.vault = vault
    }

    /// Nil if a field is missing or wrong.
    init?(_ fields: [String: String]) {
        guard let direction = fields["direction"].flatMap(Migration.Direction.init),
            let step = fields["step"].flatMap(Step.init), let name = fields["name"], let vault = fields["vault"]
        else { return nil }
        self.init(direction, name: name, vault: Path(vault))
        self.step = step
        deviceKey = fields["device-key"].map { Path($0) }
        keepsOriginals = fields["keep"] == "yes"
        locksWithScreen = fields["screen"] != "no"
        recoveryKey = fields["recovery-key"].map { Path($0) }
        digests = fields["digests"].map { Path($0) }
    }

    /// Paths in it are text, as in the configuration.
    var fields: [String: String] {
        var fields = [
            "direction": direction.rawValue, "step": step.rawValue, "name": name, "vault": vault.text ?? "",
            "keep": keepsOriginals ? "yes" : "no", "screen": locksWithScreen ? "yes" : "no",
        ]
        fields["device-key"] = deviceKey?.text
        fields["recovery-key"] = recoveryKey?.text
        fields["digests"] = digests?.text
        return fields
    }
}
