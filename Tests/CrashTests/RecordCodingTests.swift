import CrashSimulator
import Posix
import TestStores
import Testing

@Suite struct RecordCodingTests {
    @Test func recordsComeBackAsTheyWere() throws {
        let file = RecordedInode(number: 7)
        let changes: [Change<RecordedInode>] = [
            .create("a", in: .root, mode: 0o644), .write([1, 2, 3], to: file, at: 1 << 40), .write([], to: file, at: 0),
            .truncate(file, to: 5), .allocate(file, mode: 3, offset: 1, length: 2), .synchronize(file, dataOnly: true),
            .synchronize(.root, dataOnly: false), .synchronizeAll,
            .rename("a", in: .root, to: "b", newDirectory: file, flags: 1),
            .link("a", in: .root, to: "b", newDirectory: file), .unlink("a", in: file),
            .removeDirectory("a", in: file), .makeDirectory("a", in: file, mode: 0o700),
            .makeNode("a", in: file, mode: 0o10644, device: 9), .makeSymbolicLink(to: [1, 2], "a", in: file),
            .setMode(0o600, of: .file(file)), .setMode(0o600, of: .entry("a", in: file)),
            .setOwner(user: nil, group: 5, of: .file(file)), .setOwner(user: 0, group: nil, of: .entry("a", in: file)),
            .setTimes(accessed: .keep, modified: .keep, of: .entry("a", in: file)),
            .setAttribute("user.x", to: [0, 255], flags: 2, of: file), .removeAttribute("user.x", of: file),
        ]
        let records = changes.enumerated().map { index, change in
            Record(change, made: index % 2 == 0 ? nil : RecordedInode(number: index))
        }
        let decoded = RecordCoding.decode(RecordCoding.encode(records, found: 12))
        #expect(decoded.records == records)
        #expect(decoded.found == 12)
    }
}
