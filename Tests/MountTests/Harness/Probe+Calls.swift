/// The calls that the tests make most, by name.
extension Probe {
    func open(_ handle: Int, _ path: String, _ flags: String = "r", mode: Int = 0o644) throws -> Answer {
        try ask("open", "\(handle)", path, flags, "\(mode)")
    }

    func close(_ handle: Int) throws -> Answer {
        try ask("close", "\(handle)")
    }

    func pread(_ handle: Int, _ offset: Int, _ count: Int) throws -> Answer {
        try ask("pread", "\(handle)", "\(offset)", "\(count)")
    }

    func pwrite(_ handle: Int, _ offset: Int, _ bytes: [UInt8]) throws -> Answer {
        try ask("pwrite", "\(handle)", "\(offset)", bytes.hexadecimal)
    }

    func fsync(_ handle: Int) throws -> Answer {
        try ask("fsync", "\(handle)")
    }

    func map(_ mapping: Int, _ handle: Int, _ length: Int, _ kind: String = "shared", _ protection: String = "rw")
        throws -> Answer
    {
        try ask("mmap", "\(mapping)", "\(handle)", "\(length)", kind, protection)
    }

    func touch(_ mapping: Int, _ offset: Int, _ count: Int) throws -> Answer {
        try ask("touch", "\(mapping)", "\(offset)", "\(count)")
    }

    func store(_ mapping: Int, _ offset: Int, _ bytes: [UInt8]) throws -> Answer {
        try ask("store", "\(mapping)", "\(offset)", bytes.hexadecimal)
    }

    func rename(_ old: String, _ new: String, _ flags: String = "0") throws -> Answer {
        try ask("rename", old, new, flags)
    }

    // MARK: Whole files

    /// Makes the file anew with these contents, synced and closed; throws where any call is refused.
    func write(_ path: String, _ bytes: [UInt8], through handle: Int = 63) throws {
        try open(handle, path, "rw,creat,trunc").required("creating \(path)")
        var offset = 0
        while offset < bytes.count {
            let chunk = Array(bytes[offset..<min(offset + 1 << 20, bytes.count)])
            offset += try pwrite(handle, offset, chunk).number()
        }
        try fsync(handle).required("fsync of \(path)")
        try close(handle).required("close of \(path)")
    }

    /// All bytes of the file, or the error of the first refused call.
    func read(_ path: String, through handle: Int = 63) throws -> Answer {
        let opened = try open(handle, path)
        guard opened.succeeded else { return opened }
        defer { _ = try? close(handle) }
        var all: [UInt8] = []
        while true {
            let answer = try pread(handle, all.count, 1 << 20)
            guard answer.succeeded else { return answer }
            let bytes = try answer.bytes()
            guard !bytes.isEmpty else { return .ok(all.hexadecimal) }
            all += bytes
        }
    }

    func contents(_ path: String) throws -> [UInt8] {
        try read(path).bytes()
    }

    func exists(_ path: String) throws -> Bool {
        try ask("stat", path).succeeded
    }

    func size(_ path: String) throws -> Int {
        Int(try ask("stat", path).words()[1]) ?? -1
    }

    func list(_ path: String) throws -> [String] {
        String(decoding: try ask("list", path).bytes(), as: UTF8.self).split(separator: "/").map(String.init)
    }

    // MARK: Extended attributes

    static let classAttribute = "user.latchkey.class"

    func setClass(_ name: String, of path: String) throws -> Answer {
        try ask("setxattr", path, Probe.classAttribute, Array(name.utf8).hexadecimal)
    }

    func classOf(_ path: String) throws -> String {
        String(decoding: try ask("getxattr", path, Probe.classAttribute).bytes(), as: UTF8.self)
    }

    /// Whether listxattr lists the class: it does so only if the class was set on the file itself.
    func isExplicit(_ path: String) throws -> Bool {
        try attributes(of: path).contains(Probe.classAttribute)
    }

    func attributes(of path: String) throws -> [String] {
        try ask("listxattr", path).bytes().split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }
}
