internal import CCrypto

/// The version of the loaded libcrypto.
public enum OpenSSLVersion {
    /// Such as "3.0.22". Allocates nothing, so the locked heap may be set up afterwards.
    public static var text: String { unsafe String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }
}
