import Tampering
import TestSupport

/// Reads through a mount what a program sees at a path, with system calls of its own.
struct MountReader {
    let mount: MountedVault
    let probe: Probe

    private struct Refusal: Error {
        let seen: Seen
    }

    func see(_ path: String) throws -> Seen {
        do {
            return try see(at: path.isEmpty ? mount.path : mount.file(path))
        } catch let refusal as Refusal {
            return refusal.seen
        }
    }

    private func see(at path: String) throws -> Seen {
        let words = try taken(try probe.ask("stat", path)).words()
        guard let mode = UInt32(words[0], radix: 8), let size = Int(words[1]) else { return .failed("stat: \(words)") }
        switch mode & 0o170000 {
        case 0o100000: return try file(at: path, size)
        case 0o040000: return try folder(at: path)
        case 0o120000:
            let target = try taken(try probe.ask("readlink", path)).bytes()
            return target.count == size ? .link(target) : .failed("a link of another length than its target")
        default: return .special
        }
    }

    /// The answer, if it is no refusal.
    private func taken(_ answer: Answer) throws -> Answer {
        switch answer {
        case .ok: return answer
        case .refused("EIO"): throw Refusal(seen: .refused)
        case .refused("ENOENT"), .refused("ENOTDIR"): throw Refusal(seen: .missing)
        case .refused(let name): throw Refusal(seen: .failed(name))
        }
    }

    private func file(at path: String, _ size: Int) throws -> Seen {
        _ = try taken(try probe.open(0, path))
        defer { _ = try? probe.close(0) }
        // From the end, so that the kernel's readahead does not ask for blocks before.
        var blocks: [[UInt8]?] = []
        for offset in stride(from: 0, to: size, by: 4096).reversed() {
            let answer = try probe.pread(0, offset, min(4096, size - offset))
            if answer == .refused("EIO") {
                blocks.insert(nil, at: 0)
            } else {
                blocks.insert(try taken(answer).bytes(), at: 0)
            }
        }
        guard try probe.pread(0, size, 100).bytes().isEmpty else { return .failed("bytes behind the end") }
        let attributes = try attributes(at: path)
        return .file(
            SeenFile(
                size: size, protection: try protection(at: path, attributes.isExplicit), blocks: blocks,
                attributes: attributes.values))
    }

    private func folder(at path: String) throws -> Seen {
        let listed = String(decoding: try taken(try probe.ask("list", path)).bytes(), as: UTF8.self)
            .split(separator: "/").map(String.init)
        guard Set(listed).count == listed.count else { return .failed("a name listed twice") }
        let attributes = try attributes(at: path)
        return .folder(
            SeenFolder(
                protection: try protection(at: path, attributes.isExplicit),
                names: Set(listed), attributes: attributes.values))
    }

    private func protection(at path: String, _ isExplicit: Bool) throws -> SeenClass {
        let name = try probe.classOf(path)
        guard let code = ProtectionClass(rawValue: name).flatMap({ ProtectionClass.allCases.firstIndex(of: $0) }) else {
            throw HarnessError("\(path) is of class \(name)")
        }
        return SeenClass(UInt8(code + 1), isExplicit: isExplicit)
    }

    private func attributes(at path: String) throws -> (values: [String: [UInt8]?], isExplicit: Bool) {
        var values: [String: [UInt8]?] = [:]
        let names = try taken(try probe.ask("listxattr", path)).bytes().split(separator: 0)
            .map { String(decoding: $0, as: UTF8.self) }
        for name in names where name != Probe.classAttribute {
            let answer = try probe.ask("getxattr", path, name)
            if answer == .refused("EIO") {
                values[name] = .some(nil)
            } else {
                values[name] = .some(try taken(answer).bytes())
            }
        }
        return (values, names.contains(Probe.classAttribute))
    }
}
