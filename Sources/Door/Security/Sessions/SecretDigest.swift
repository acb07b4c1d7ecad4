internal import Commands
internal import Crypto

/// The digests of secrets, which memory and the store keep instead of the secrets: the time of a search by a digest does
/// not depend on the secret, and a reader of a backup cannot log in.
enum SecretDigest {
    /// The SHA-256 of a secret in hexadecimal digits.
    static func text(of secret: String) -> String {
        Hexadecimal.text(SHA256.hash(data: Array(secret.utf8)))
    }
}
