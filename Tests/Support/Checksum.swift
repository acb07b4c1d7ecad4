internal import Crypto

/// SHA-256 in hexadecimal, as ``ReceivedRequest/sha256`` and `sha256sum` say it.
package func sha256(_ bytes: [UInt8]) -> String {
    SHA256.hash(data: bytes).map { byte in
        let digits = String(byte, radix: 16)
        return digits.count == 2 ? digits : "0" + digits
    }.joined()
}
