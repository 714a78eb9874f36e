internal import CCrypto

/// What the loaded libcrypto says of itself.
public enum OpenSSLVersion {
    /// Such as "3.0.22". It allocates nothing, so that the memory for keys may be set up afterwards.
    public static var text: String { unsafe String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }
}
