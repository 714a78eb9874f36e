import Glibc

/// Removes a device key and what lies beside it.
public func removeDeviceKey(_ path: String) {
    for suffix in ["", ".tries", ".seen", ".marks"] { _ = unsafe unlink(path + suffix) }
}
