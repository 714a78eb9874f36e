import Policy
import Posix

/// A policy's rules, for people.
struct PolicyReport {
    private let policy: Policy

    init(_ policy: Policy) { self.policy = policy }

    /// Each rule in a sentence, with its line.
    var text: Printable {
        var table = Table()
        for statement in policy.statements { table.add("line \(statement.line)", "\(statement.sentence)") }
        return text(table)
    }

    /// The same, and whether the facts comply.
    func text(on facts: Facts) -> Printable {
        var table = Table()
        for (statement, verdict) in zip(policy.statements, policy.verdicts(on: facts)) {
            switch verdict.outcome {
            case .kept: table.add("line \(statement.line)", "kept", "\(statement.sentence)")
            case .broken: table.add("line \(statement.line)", "broken", "\(statement.sentence)")
            case .unknown:
                table.add("line \(statement.line)", "unknown", "\(statement.sentence) \(Self.source(of: verdict.rule))")
            }
        }
        return text(table)
    }

    private func text(_ table: Table) -> Printable {
        guard !policy.isEmpty else {
            return "Nothing is demanded: \(policy.path) is not there, or has no rules."
        }
        return "\(policy.path):\n\(table.lines(indent: 2))"
    }

    /// When the missing fact becomes known.
    private static func source(of rule: RuleName) -> String {
        switch rule {
        case .minimumPasscodeStrength: "Looked at when one is set."
        case .eraseAfter, .requiredEscrowKey: "This vault does not tell."
        case .defaultClass, .minimumClass, .longestGrace, .longestHold, .lockWhenIdleAfter, .forgetAfter, .freshness,
            .allowedDeviceKeys:
            "Looked at when it is mounted."
        case .requiredLockSources: "Looked at by the agent, at each event."
        }
    }

    /// The error for a violation, with the command that corrects it.
    func error(_ violation: Violation, at argument: PathArgument) -> CommandError {
        let (vault, mount): (Printable, Printable) =
            switch argument {
            case .mount(let mount): (mount.status.vault.quoted, mount.status.mountPoint.quoted)
            case .vault(let path): (path.path.quoted, "DIR")
            case .orphan(let entry): ("VAULT", entry.mountPoint.quoted)
            }
        let message: Printable = "\(violation)"
        return switch violation.rule {
        case .minimumPasscodeStrength: CommandError(.failed, message, try: "latchkey passwd \(vault)")
        case .defaultClass, .minimumClass:
            CommandError(.failed, message, try: "latchkey class set CLASS \(mount)")
        case .longestGrace:
            CommandError(
                .failed, message, try: "latchkey unmount \(mount)", "latchkey mount --grace SECONDS \(vault) \(mount)")
        case .longestHold:
            // The mount began before the rule.
            CommandError(
                .failed, message, try: "latchkey unmount \(mount)", "latchkey mount \(vault) \(mount)")
        case .forgetAfter:
            CommandError(
                .failed, message, try: "latchkey unmount \(mount)",
                "latchkey mount --forget-after HOURS \(vault) \(mount)")
        case .freshness where policy.freshness?.value == .warn:
            CommandError(
                .failed, message, try: "latchkey unmount \(mount)", "latchkey mount --freshness warn \(vault) \(mount)")
        case .freshness:
            CommandError(
                .failed, message, try: "latchkey unmount \(mount)",
                "latchkey mount --freshness strict \(vault) \(mount)")
        case .requiredEscrowKey:
            CommandError(.failed, message, try: "latchkey slot add escrow-key --public-key FILE \(vault)")
        case .lockWhenIdleAfter, .eraseAfter, .allowedDeviceKeys, .requiredLockSources: CommandError(.failed, message)
        }
    }
}
