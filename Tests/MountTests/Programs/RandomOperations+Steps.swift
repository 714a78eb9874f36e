import TestSupport

extension MountTests.RandomOperations {
    /// Makes one call, and applies it to the model.
    func step(_ number: Int, _ model: inout Model, _ scene: Scene) throws -> String {
        let probe = scene.probe
        let offset = model.random(4) == 0 ? model.random(30) * 4096 : model.random(Self.longest - 20_000)
        let count = model.random(3) == 0 ? 4096 * (1 + model.random(4)) : 1 + model.random(20_000)
        let patch = [UInt8](seed: number, count: count)
        switch model.random(26) {
        case 0...5:
            try probe.pwrite(0, offset, patch).required("pwrite")
            model.write(patch, at: offset)
            return "pwrite \(offset) \(count)"
        case 6...10:
            let expected = Array(model.bytes.dropFirst(offset).prefix(count))
            guard try probe.pread(0, offset, count).bytes() == expected else {
                throw HarnessError("pread \(offset) \(count): other bytes than were written")
            }
            return "pread \(offset) \(count)"
        case 11, 12:
            try probe.ask("ftruncate", "0", "\(offset)").required("ftruncate")
            model.resize(to: offset)
            return "ftruncate \(offset)"
        case 13, 14:
            return try throughAMapping(offset, patch, &model, probe)
        case 15, 16:
            let mode = ["0", "keep", "zero", "zero,keep"][model.random(4)]
            try probe.ask("fallocate", "0", mode, "\(offset)", "\(count)").required("fallocate \(mode)")
            if !mode.hasSuffix("keep") { model.extend(to: offset + count) }
            if mode.hasPrefix("zero") { model.clear(offset, count) }
            return "fallocate \(mode) \(offset) \(count)"
        case 17:
            try probe.ask("fallocate", "0", "punch", "\(offset)", "\(count)").required("punch")
            model.clear(offset, count)
            return "punch \(offset) \(count)"
        case 18:
            return try lookForData(offset, model, probe)
        case 19, 20:
            return try copyWithin(offset, count, &model, probe)
        case 21, 22:
            return try copyBetween(offset, count, &model, probe)
        case 23:
            guard model.bytes.count < Self.longest else { return "-" }
            try probe.ask("write", "\(Handle.appending.rawValue)", patch.hexadecimal).required("append")
            model.bytes += patch
            return "append \(count)"
        case 24:
            for handle in Handle.allCases { try probe.close(handle.rawValue).required("close") }
            try open(scene)
            return "close, open"
        default:
            guard model.random(4) == 0 else { return "-" }
            try scene.mount.lockNow()
            try scene.mount.unlock()
            return "lock, unlock"
        }
    }

    private func lookForData(_ offset: Int, _ model: Model, _ probe: Probe) throws -> String {
        try probe.fsync(0).required("fsync")
        guard try probe.ask("lseek", "0", "0", "end").number() == model.bytes.count else {
            throw HarnessError("SEEK_END: not \(model.bytes.count)")
        }
        guard offset < model.bytes.count else { return "fsync, SEEK_END" }
        let data = try probe.ask("lseek", "0", "\(offset)", "data")
        let end = data.succeeded ? try data.number() : model.bytes.count
        guard end >= offset, model.bytes[offset..<end].allSatisfy({ $0 == 0 }),
            data.succeeded || data == .refused("ENXIO")
        else { throw HarnessError("SEEK_DATA \(offset): \(data)") }
        return "fsync, SEEK_END, SEEK_DATA \(offset)"
    }

    private func throughAMapping(_ offset: Int, _ patch: [UInt8], _ model: inout Model, _ probe: Probe) throws -> String
    {
        guard offset < model.bytes.count else { return "-" }
        let patch = Array(patch.prefix(model.bytes.count - offset))
        try probe.map(0, 0, model.bytes.count).required("mmap")
        guard try probe.touch(0, 0, model.bytes.count).bytes() == model.bytes else {
            throw HarnessError("a mapping shows other bytes than were written")
        }
        try probe.store(0, offset, patch).required("store")
        try probe.ask("munmap", "0").required("munmap")
        model.write(patch, at: offset)
        return "store \(offset) \(patch.count)"
    }

    private func copyWithin(_ offset: Int, _ count: Int, _ model: inout Model, _ probe: Probe) throws -> String {
        let to = model.random(Self.longest - 20_000)
        // Overlapping ranges fail with EINVAL, and nothing changes.
        let expected = abs(to - offset) < min(count, model.bytes.count - offset) ? nil : model.part(offset, count)
        let answer = try probe.ask("copyrange", "0", "\(offset)", "0", "\(to)", "\(count)")
        if let expected {
            try copied(answer, expected)
            model.write(expected, at: to)
        } else if answer != .refused("EINVAL") {
            throw HarnessError("copy_file_range within, overlapping: \(answer)")
        }
        return "copy \(offset) \(count) to \(to): \(answer)"
    }

    /// In either direction.
    private func copyBetween(_ offset: Int, _ count: Int, _ model: inout Model, _ probe: Probe) throws -> String {
        let to = model.random(Self.longest - 20_000)
        let isBack = model.random(2) == 0
        if isBack { swap(&model.bytes, &model.other) }
        defer { if isBack { swap(&model.bytes, &model.other) } }
        let (source, target) = isBack ? (Handle.other, Handle.file) : (Handle.file, Handle.other)
        let expected = model.part(offset, count)
        let answer = try probe.ask(
            "copyrange", "\(source.rawValue)", "\(offset)", "\(target.rawValue)", "\(to)", "\(count)")
        try copied(answer, expected)
        swap(&model.bytes, &model.other)
        model.write(expected, at: to)
        swap(&model.bytes, &model.other)
        return "copy \(source) \(offset) \(count) to \(target) \(to): \(answer)"
    }

    private func copied(_ answer: Answer, _ expected: [UInt8]) throws {
        guard try answer.number() == expected.count else {
            throw HarnessError("copy_file_range: \(answer), not \(expected.count)")
        }
    }
}
