package import Commands
internal import HTTPClient
internal import Transfers

/// The address of an object: endpoint, bucket and key.
package struct S3Address: Sendable, Equatable {
    /// The maximum length of a key in bytes.
    static let maxKeyLength = 1024

    /// The endpoint as it was submitted; the command's destination.
    let endpoint: Destination
    /// The encoded path of the endpoint, which begins every path; empty where it has none.
    let basePath: String
    let addressing: S3Addressing
    package let bucket: String
    package let key: String
    /// The server to connect to: the endpoint, or `bucket.endpoint`.
    let origin: HTTPOrigin

    /// - Throws: ``S3AddressError`` with a sentence that names the wrong part.
    package init(
        endpoint: Destination, basePath: String = "", addressing: S3Addressing = .path, bucket: String, key: String
    ) throws(S3AddressError) {
        guard let origin = HTTPOrigin(endpoint) else {
            throw S3AddressError(
                "“endpoint” must be a URL of http or https such as https://s3.example.com/storage/v1/s3, not \(endpoint)"
            )
        }
        if let objection = Self.objection(toBucket: bucket) { throw S3AddressError(objection) }
        if let objection = Self.objection(toKey: key) { throw S3AddressError(objection) }
        self.endpoint = endpoint
        self.basePath = basePath
        self.addressing = addressing
        self.bucket = bucket
        self.key = key
        switch addressing {
        case .path: self.origin = origin
        case .virtual:
            if let objection = Self.objection(toVirtual: bucket, at: origin) { throw S3AddressError(objection) }
            self.origin = HTTPOrigin(
                isEncrypted: origin.isEncrypted, host: "\(bucket).\(origin.host)", port: origin.port)
        }
    }

    /// The value of the field `Host`.
    package var host: String { origin.hostField }

    /// The server to connect to.
    package var destination: Destination {
        addressing == .path
            ? endpoint
            : Destination(scheme: origin.isEncrypted ? "https" : "http", host: origin.host, port: origin.port)
    }

    /// The encoded path of the object.
    package var path: String {
        switch addressing {
        case .path: "\(basePath)/\(bucket)/\(S3Path.encoded(key: key))"
        case .virtual: "\(basePath)/\(S3Path.encoded(key: key))"
        }
    }

    /// The encoded path of the bucket.
    var bucketPath: String {
        switch addressing {
        case .path: "\(basePath)/\(bucket)"
        case .virtual: "\(basePath)/"
        }
    }

    /// Whether the endpoint is one of AWS, which knows every header of its documentation.
    package var isAmazon: Bool {
        let host = origin.host
        return host.hasSuffix(".amazonaws.com") || host.hasSuffix(".amazonaws.com.cn")
    }

    /// The object's URL, for the result and for messages.
    package var url: String { "\(origin.isEncrypted ? "https" : "http")://\(host)\(path)" }

    // MARK: Checks

    private static func objection(toBucket name: String) -> String? {
        let isName =
            (3...255).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0.isLetter || $0.isDigit || "-._".utf8.contains($0) }
            && (name.utf8.first.map { $0.isLetter || $0.isDigit } ?? false)
        return isName && !name.contains("..")
            ? nil
            : "“bucket” is “\(SingleLine.text(name, limit: 80))”; a bucket has 3 to 255 letters, digits, dots, hyphens and "
                + "underscores, and starts with a letter or a digit"
    }

    private static func objection(toKey key: String) -> String? {
        guard !key.isEmpty else { return "“key” is empty" }
        guard key.utf8.count <= maxKeyLength else {
            return "“key” has \(key.utf8.count) bytes; a key has at most \(maxKeyLength)"
        }
        return key.utf8.contains(0) ? "“key” contains a zero byte" : nil
    }

    private static func objection(toVirtual bucket: String, at origin: HTTPOrigin) -> String? {
        let isLabel =
            bucket.utf8.count <= 63 && !bucket.hasSuffix("-") && !bucket.hasSuffix(".")
            && bucket.utf8.allSatisfy { $0.isDigit || $0.isLowercase || "-.".utf8.contains($0) }
        guard isLabel else {
            return "the bucket “\(bucket)” cannot be part of a host name; use “addressing”: “path”"
        }
        // A certificate for *.endpoint is valid for one more label, not for two (RFC 9525, section 6.3).
        guard !origin.isEncrypted || !bucket.contains(".") else {
            return "the bucket “\(bucket)” has a dot, so that no certificate of the endpoint covers its host name; "
                + "use “addressing”: “path”"
        }
        let isAddress =
            origin.host.utf8.contains(UInt8(ascii: ":"))
            || origin.host.utf8.allSatisfy { $0.isDigit || $0 == UInt8(ascii: ".") }
        return isAddress
            ? "the endpoint \(origin) is an IP address, which has no names below it; use “addressing”: “path”" : nil
    }
}

extension UInt8 {
    fileprivate var isLowercase: Bool { self >= UInt8(ascii: "a") && self <= UInt8(ascii: "z") }
}

/// The URL of an S3 service: an origin, or a path below which its buckets are, as `https://host/storage/v1/s3`. The path is
/// signed as it is sent.
package struct S3Endpoint: Sendable, Equatable {
    package let destination: Destination
    /// Percent-encoded, without a slash at its end; empty where there is none.
    package let path: String

    /// - Returns: nil for a text that is not a URL of HTTP, and for one with a user, a query, an empty segment or a dot
    ///   segment, which servers resolve in different ways.
    init?(_ text: String) {
        guard let url = try? ResourceURL(text), url.scheme != .file, url.query.isEmpty,
            HTTPOrigin(url.destination) != nil
        else { return nil }
        var path = url.path
        while path.hasSuffix("/") { path.removeLast() }
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        guard
            segments.allSatisfy({ segment in
                let decoded = PercentEncoding.validDecoded(segment.utf8).flatMap {
                    String(validating: $0, as: UTF8.self)
                }
                return decoded.map { !$0.isEmpty && $0 != "." && $0 != ".." && !$0.contains("/") } ?? false
            })
        else { return nil }
        destination = url.destination
        self.path = path
    }

    /// The URL in a payload.
    package var text: String { destination.text + path }
}

/// Where the name of the bucket stands.
package enum S3Addressing: String, Sendable {
    /// `https://endpoint/bucket/key`
    case path
    /// `https://bucket.endpoint/key`
    case virtual
}

/// Why endpoint, bucket and key do not make an address.
package struct S3AddressError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A sentence that names the wrong part.
    package var message: String

    init(_ message: String) { self.message = message }

    package var description: String { message }
}
