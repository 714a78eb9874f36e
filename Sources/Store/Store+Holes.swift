public import Posix

extension Store {
    /// Makes a range of a file's bytes zeros and gives their space back, without a change of its size; where the store
    /// cannot do that, or has no room to do it, writes zeros over what is no hole yet. When it throws, any part may be done.
    ///
    /// - Parameter range: within the file.
    public func punch(_ file: Descriptor, _ range: Range<Int64>) throws(Errno) {
        do throws(Errno) {
            try allocate(
                file, mode: FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset: range.lowerBound,
                length: Int64(range.count))
        } catch {
            switch error {
            case .EOPNOTSUPP, .ENOSYS, .ENOSPC, .EDQUOT: try zero(file, range)
            default: throw error
            }
        }
    }

    private func zero(_ file: Descriptor, _ range: Range<Int64>) throws(Errno) {
        let zeros = [UInt8](repeating: 0, count: min(range.count, 64 << 10))
        var offset = range.lowerBound
        while let data = try nextData(of: file, from: offset), data < range.upperBound {
            let end = min(try nextHole(of: file, from: data) ?? range.upperBound, range.upperBound)
            offset = data
            while offset < end {
                let count = min(zeros.count, Int(end - offset))
                try unsafe write(zeros.span.bytes.extracting(0..<count), to: file, at: offset)
                offset += Int64(count)
            }
        }
    }

    /// Makes sure that writing to a range of a file, behind its end too, will not fail for want of space, where the store
    /// can.
    public func reserve(_ file: Descriptor, _ range: Range<Int64>) throws(Errno) {
        do throws(Errno) {
            try allocate(
                file, mode: FALLOC_FL_KEEP_SIZE, offset: range.lowerBound, length: Int64(range.count))
        } catch {
            guard error == .EOPNOTSUPP || error == .ENOSYS else { throw error }
        }
    }
}
