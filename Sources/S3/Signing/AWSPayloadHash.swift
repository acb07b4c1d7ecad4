internal import Commands
internal import Crypto

/// The hash of a body in a signature, and the value of `x-amz-content-sha256`.
package enum AWSPayloadHash: Sendable, Equatable {
    /// 64 hexadecimal digits.
    case sha256(String)
    /// The body is not signed. Valid over TLS only, because a proxy on the path could replace the body.
    case unsigned

    /// The hash of a request without a body.
    package static let empty = AWSPayloadHash.sha256("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")

    init(of body: [UInt8]) { self = .sha256(Hexadecimal.text(SHA256.hash(data: body))) }

    var text: String {
        switch self {
        case .sha256(let digits): digits
        case .unsigned: "UNSIGNED-PAYLOAD"
        }
    }
}
