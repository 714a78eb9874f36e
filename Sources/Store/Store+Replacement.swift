import Posix

extension Store {
    /// Gives a file that is about to replace another a later time of modification by two seconds, where the clock has not
    /// done so: of the same size, it would be the other one to a copy by size and whole second, or by FAT's two.
    public func setTimeApart(of file: Descriptor, from replaced: Name, in directory: Descriptor) throws(Errno) {
        guard let last = try? status(of: replaced, in: directory).modified.seconds, last < Int64.max - 3 else { return }
        let later = (last + 3) & ~1
        if try status(of: file).modified.seconds < later {
            try setTimes(accessed: .keep, modified: .at(Timespec(seconds: later, nanoseconds: 0)), of: file)
        }
    }
}
