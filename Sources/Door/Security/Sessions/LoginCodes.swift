package import Commands
internal import Crypto

/// Single-use codes, with which the page is opened without a token in its URL. Pure but for the random code.
package struct LoginCodes: Sendable {
    private struct Code {
        var token: String
        var expires: Timestamp
    }

    package static let lifetime: Duration = .seconds(600)
    /// The maximum number of codes that are not used yet; the oldest goes first.
    static let maxCount = 64

    /// By the SHA-256 of the code: the time of the search does not depend on the code itself.
    private var codes: [[UInt8]: Code] = [:]

    package init() {}

    /// Makes a code, which is valid for 10 minutes.
    /// - Parameter token: the id of the token whose rights it gives.
    package mutating func make(for token: String, now: Timestamp) -> String {
        codes = codes.filter { $0.value.expires > now }
        if codes.count >= Self.maxCount, let oldest = codes.min(by: { $0.value.expires < $1.value.expires }) {
            codes[oldest.key] = nil
        }
        let text = Base62.random(bytes: 16)
        codes[Self.digest(text)] = Code(token: token, expires: now + Self.lifetime)
        return text
    }

    /// Uses a code up.
    /// - Returns: the id of its token; nil for a code that is not known, was used, or has expired.
    package mutating func redeem(_ text: String, now: Timestamp) -> String? {
        guard let code = codes.removeValue(forKey: Self.digest(text)), code.expires > now else { return nil }
        return code.token
    }

    private static func digest(_ text: String) -> [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }
}
