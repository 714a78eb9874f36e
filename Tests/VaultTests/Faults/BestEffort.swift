import TestStores

@testable import Vault

/// Calls whose failure the caller is not told of, and why.
enum BestEffort {
    static func reason(for kind: Operation.Kind, in act: FaultAct) -> String? {
        reasons[kind]
    }

    private static let reasons: [Operation.Kind: String] = [
        .setTimes: "the stamp for copies by size and time: a checkpoint sets it again; the journal's own, its next one",
        .status: "asks for the time of what is replaced, or of the journal: now will do",
        .readSymbolicLink: "a symbolic link goes without its long target, which is a orphan",
        .attribute: "the rest of the value before, if that had one, is a orphan",
        .setAttribute: "a file without a summary has its header; one without the attribute is not what the act makes",
        .open: "one of several names goes without the header, which could be damaged as well, saying so",
        .write: "after a rename has happened the journal forgets what was replaced: replay finds that it is dead",
        .synchronize: "after a rename of a folder has happened, the step that whoever opens it next makes up for",
        .rename: "after a rename of a folder has happened, the step that whoever opens it next makes up for",
        .removeDirectory: "a folder that was removed is orphan under a temporary name by then",
        .unlink: "what is left over has a temporary name, or goes when the vault is next checkpointed",
        .entries: "what is left over has a temporary name",
        .setMode: "an ordinary user's own folder is made writable before it goes",
    ]
}
