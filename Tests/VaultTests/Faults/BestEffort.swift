import TestStores

@testable import Vault

/// Calls whose failure is not reported to the caller, and why.
enum BestEffort {
    static func reason(for kind: Operation.Kind, in act: FaultAct) -> String? {
        reasons[kind]
    }

    private static let reasons: [Operation.Kind: String] = [
        .setTimes: "the stamp for copies by size and time: a checkpoint sets it again; the journal's own, its next one",
        .status: "asks for the time of what is replaced, or of the journal: now will do",
        .readSymbolicLink: "a symbolic link is removed without its long target, which is an orphan",
        .attribute: "the continuation of the old value, if it had one, is an orphan",
        .setAttribute: "a file without a summary has its header; one without the attribute is not what the act makes",
        .open: "one of several names is removed without the header: a damaged header would do no more",
        .write: "after a rename the journal forgets the replaced file: replay finds that it has no name",
        .synchronize: "a rename of a folder has happened: the next open of the folder finishes its clean-up",
        .rename: "a rename of a folder has happened: the next open of the folder finishes its clean-up",
        .removeDirectory: "a removed folder is an orphan under a temporary name",
        .unlink: "an orphan has a temporary name, or is removed at the next checkpoint",
        .entries: "an orphan has a temporary name",
        .setMode: "an ordinary user's own folder is made writable before it goes",
    ]
}
