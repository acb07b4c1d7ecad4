internal import Commands
internal import Crypto
package import Transfers

/// The parts of a request that Signature Version 4 covers.
package struct AWSRequest: Sendable, Equatable {
    package var method: String
    /// The value of the field `Host`: with the port unless it is the scheme's own.
    package var host: String
    /// The path in the request line, as ``S3Path`` encodes it. It is signed byte for byte.
    package var path: String
    package var query: [S3QueryItem] = []
    /// Without `Host`. Fields that the signature adds are replaced.
    package var headers: [HTTPField] = []

    package init(method: String, host: String, path: String, query: [S3QueryItem] = [], headers: [HTTPField] = []) {
        self.method = method
        self.host = host
        self.path = path
        self.query = query
        self.headers = headers
    }

    /// The names, in lower case, of the fields that a signature sets.
    static let ownNames: Set<String> = [
        "host", "authorization", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token",
    ]

    /// Whether a field is signed: `host`, `content-type`, `content-md5` and every `x-amz-…`. Proxies change
    /// others, such as `user-agent`, `te` and `expect`, and a changed field makes the signature invalid.
    static func isSigned(_ lowerName: String) -> Bool {
        switch lowerName {
        case "host", "content-type", "content-md5": true
        // Tracing of AWS changes it on the way.
        case "x-amzn-trace-id": false
        default: lowerName.hasPrefix("x-amz-")
        }
    }

    /// The signed fields, sorted by name: names in lower case, values trimmed with inner spaces folded, and
    /// the values of one name joined by commas in their order.
    func canonicalHeaders() -> [HTTPField] {
        var values: [String: [String]] = ["host": [Self.folded(host)]]
        for field in headers {
            let name = field.lowerName
            guard name != "host", Self.isSigned(name) else { continue }
            values[name, default: []].append(Self.folded(field.value))
        }
        return values.sorted { $0.key < $1.key }.map { HTTPField($0.key, $0.value.joined(separator: ",")) }
    }

    /// The value without spaces and tabs at its ends, and with one space for each run of them within.
    static func folded(_ value: String) -> String {
        let words = value.utf8.split { $0 == 0x20 || $0 == 0x09 }
        return String(decoding: Array(words.joined(separator: [0x20])), as: UTF8.self)
    }
}

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
