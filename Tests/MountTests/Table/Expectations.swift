import Foundation

/// The expected result of a cell of the table.
enum Expected: String {
    case yes
    /// ENOKEY, and no change.
    case noKey = "ENOKEY"
    /// SIGBUS, and no change.
    case bus = "SIGBUS"
    /// The cell does not exist: no handle of such a file can have been opened, or the class is the same.
    case absent = "n/a"

    func fits(_ answer: Answer) -> Bool {
        switch self {
        case .yes: answer.succeeded
        case .noKey: answer == .noKey
        case .bus: answer == .bus
        case .absent: true
        }
    }
}

/// The table of section 2, with the columns of the design. In the states unlocked and locking everything is allowed.
struct Expectation {
    let call: Call
    /// A, and B: before the first unlock, and locked.
    let a, b: Expected
    /// C and D before the first unlock.
    let cBefore, dBefore: Expected
    /// C and D while locked.
    let cLocked, dLocked: Expected

    private init(row: String) {
        let columns = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        call = Call(rawValue: columns[0])!
        let cells = columns.dropFirst().map { Expected(rawValue: $0)! }
        (a, b, cBefore, cLocked, dBefore, dLocked) = (cells[0], cells[1], cells[2], cells[3], cells[4], cells[5])
    }

    func cell(_ protection: ProtectionClass, _ state: LockState) -> Expected {
        // Which cells exist does not depend on the keys: a handle from before the mount is impossible.
        let away =
            switch (protection, state) {
            case (.complete, _): a
            case (.completeUnlessOpen, _): b
            case (.completeUntilFirstUserAuthentication, .beforeFirstUnlock): cBefore
            // A file of C that was open is lost like one of A; else all is as before the first unlock.
            case (.completeUntilFirstUserAuthentication, .deeplyLocked): call.needsHandle ? a : cBefore
            case (.completeUntilFirstUserAuthentication, _): cLocked
            case (.none, .beforeFirstUnlock), (.none, .deeplyLocked): dBefore
            case (.none, _): dLocked
            }
        switch state {
        case .beforeFirstUnlock:
            return protection == .complete && call.needsHandle ? .absent : away
        case .locked, .deeplyLocked:
            return away
        case .unlocked, .locking:
            if case .absent = away { return .absent }
            return .yes
        }
    }

    /// "Away" is before the first unlock and while locked; "before" is before the first unlock alone.
    static let table: [Expectation] = """
                                                        | A away  | B away   | C before | C locked | D before | D locked
        create                                          | ENOKEY  | yes      | ENOKEY   | yes      | yes      | yes
        open                                            | ENOKEY  | ENOKEY   | ENOKEY   | yes      | yes      | yes
        open, while another handle has it open          | ENOKEY  | ENOKEY   | n/a      | yes      | yes      | yes
        open with O_TRUNC                               | ENOKEY  | ENOKEY   | ENOKEY   | yes      | yes      | yes

        read through an earlier handle                  | ENOKEY  | yes      | n/a      | yes      | yes      | yes
        write through an earlier handle                 | ENOKEY  | yes      | n/a      | yes      | yes      | yes
        SEEK_END through an earlier handle              | ENOKEY  | yes      | n/a      | yes      | yes      | yes
        ftruncate through an earlier handle             | ENOKEY  | yes      | n/a      | yes      | yes      | yes
        fallocate through an earlier handle             | ENOKEY  | yes      | n/a      | yes      | yes      | yes
        copy_file_range from an earlier handle          | ENOKEY  | yes      | n/a      | yes      | yes      | yes
        sendfile from an earlier handle                 | ENOKEY  | yes      | n/a      | yes      | yes      | yes
        read with O_DIRECT through an earlier handle    | ENOKEY  | yes      | n/a      | yes      | yes      | yes
        fsync of an earlier handle                      | yes     | yes      | n/a      | yes      | yes      | yes
        close of an earlier handle                      | yes     | yes      | n/a      | yes      | yes      | yes

        touch an earlier shared mapping                 | SIGBUS  | yes      | n/a      | yes      | yes      | yes
        touch an earlier private mapping                | SIGBUS  | yes      | n/a      | yes      | yes      | yes
        touch an earlier mapping whose handle is closed | SIGBUS  | yes      | n/a      | yes      | yes      | yes
        store into an earlier shared mapping            | SIGBUS  | yes      | n/a      | yes      | yes      | yes

        truncate by name, to less                       | ENOKEY  | ENOKEY   | ENOKEY   | yes      | yes      | yes
        truncate by name, to more                       | ENOKEY  | ENOKEY   | ENOKEY   | yes      | yes      | yes

        set the class to A                              | n/a     | ENOKEY   | ENOKEY   | ENOKEY   | ENOKEY   | ENOKEY
        set the class to B                              | ENOKEY  | n/a      | ENOKEY   | yes      | yes      | yes
        set the class to C                              | ENOKEY  | ENOKEY   | n/a      | yes      | ENOKEY   | yes
        set the class to D                              | ENOKEY  | ENOKEY   | ENOKEY   | yes      | yes      | yes

        stat                                            | yes     | yes      | yes      | yes      | yes      | yes
        readdir                                         | yes     | yes      | yes      | yes      | yes      | yes
        rename                                          | yes     | yes      | yes      | yes      | yes      | yes
        link                                            | yes     | yes      | yes      | yes      | yes      | yes
        unlink                                          | yes     | yes      | yes      | yes      | yes      | yes
        chmod                                           | yes     | yes      | yes      | yes      | yes      | yes
        chown                                           | yes     | yes      | yes      | yes      | yes      | yes
        utimens                                         | yes     | yes      | yes      | yes      | yes      | yes
        getxattr of the class                           | yes     | yes      | yes      | yes      | yes      | yes
        getxattr of a user attribute                    | yes     | yes      | yes      | yes      | yes      | yes
        setxattr of a user attribute                    | yes     | yes      | yes      | yes      | yes      | yes
        listxattr                                       | yes     | yes      | yes      | yes      | yes      | yes
        """.split(separator: "\n").dropFirst().map { Expectation(row: String($0)) }
}
