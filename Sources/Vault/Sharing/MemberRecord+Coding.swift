import Format
package import Keybag
package import Sharing

extension MemberRecord {
    /// Nil unless a machine that has the keys has written the bytes.
    package init?(_ bytes: [UInt8], _ keys: VolumeKeys) {
        guard bytes.count == MemberFile.byteCount else { return nil }
        let all = unsafe bytes.span.bytes
        let isAuthentic = keys.volume.withBytes { volume in
            keys.members.verify(
                all.extracting(MemberFile.signedByteCount..<MemberFile.byteCount), of: volume,
                all.extracting(0..<MemberFile.signedByteCount))
        }
        guard isAuthentic, let file = try? MemberFile(decoding: all), let state = State(rawValue: file.state) else {
            return nil
        }
        self.init(
            machine: MachineNumber(file.machine), epoch: file.epoch, state: state, writer: MachineNumber(file.writer),
            lease: .milliseconds(Int64(file.lease)))
    }

    /// The bytes of its file.
    package func signed(_ keys: VolumeKeys) -> [UInt8] {
        let milliseconds = UInt32(clamping: Int64((lease / .milliseconds(1)).rounded()))
        let signed = MemberFile(
            state: state.rawValue,
            lease: min(max(milliseconds, MemberFile.leases.lowerBound), MemberFile.leases.upperBound),
            machine: machine.number, epoch: epoch, writer: writer.number
        ).encoded
        return signed + keys.volume.withBytes { volume in keys.members.tag(of: volume, unsafe signed.span.bytes) }
    }
}
