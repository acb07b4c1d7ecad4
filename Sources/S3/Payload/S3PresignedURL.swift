internal import Commands
internal import HTTPClient
internal import Operations
package import Transfers

/// A URL whose query is the signature of one PUT. The whole query is a secret.
package struct S3PresignedURL: Sendable, Equatable {
    package let url: ResourceURL
    /// The names, in lower case, of the headers that must be sent, without `host` and `content-length`; nil
    /// where the URL does not tell.
    let signedHeaders: Set<String>?
    /// When the URL becomes invalid; nil where it does not tell.
    let expiry: Timestamp?

    /// - Throws: ``PayloadError`` that does not quote the query.
    init(_ text: String) throws(PayloadError) {
        url = try ResourceURL(text)
        guard url.scheme != .file else {
            throw PayloadError(.usage, "“presigned” must be an http or https URL with a signature, not a file: URL")
        }
        var values: [String: String] = [:]
        for pair in url.query.utf8.dropFirst().split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = parts.first.flatMap(Self.decoded), parts.count == 2 else { continue }
            values[name.lowercased()] = Self.decoded(parts[1]) ?? ""
        }
        guard !values.isEmpty else {
            throw PayloadError(.usage, "“presigned” is “\(url.displayText)”, which has no signature in a query")
        }
        signedHeaders = values["x-amz-signedheaders"].map { names in
            Set(names.lowercased().split(separator: ";").map(String.init)).subtracting(["host", "content-length"])
        }
        expiry = Self.expiry(values)
    }

    /// Compares the headers that will be sent with the signed ones. A missing or an extra one is answered
    /// 403.
    /// - Returns: the difference, in a sentence; nil for none.
    func objection(toHeaders names: some Sequence<String>) -> String? {
        guard let signedHeaders else { return nil }
        let given = Set(names.map { $0.lowercased() })
        if let missing = signedHeaders.subtracting(given).min() {
            return "the presigned URL has signed the header “\(missing)”; give it the same value as at signing"
        }
        if let extra = given.subtracting(signedHeaders).min() {
            return "the presigned URL has not signed the header “\(extra)”; leave it out, or sign a URL with it"
        }
        return nil
    }

    private static func expiry(_ values: [String: String]) -> Timestamp? {
        if let date = values["x-amz-date"].flatMap(AWSDate.time),
            let seconds = values["x-amz-expires"].flatMap(Int64.init), (0...31_536_000).contains(seconds)
        {
            return date + .seconds(seconds)
        }
        // Signature Version 2: Unix seconds.
        guard let seconds = values["expires"].flatMap(Int64.init), (0...253_402_300_799).contains(seconds) else {
            return nil
        }
        return Timestamp(milliseconds: seconds * 1000)
    }

    private static func decoded(_ text: Substring.UTF8View) -> String? {
        String(validating: PercentEncoding.decoded(text), as: UTF8.self)
    }
}
