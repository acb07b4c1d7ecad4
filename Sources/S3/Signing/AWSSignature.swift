internal import Commands
internal import Crypto
internal import Transfers

/// A signature of one request (AWS Signature Version 4, for S3: the path is encoded once and not normalised).
struct AWSSignature: Sendable, Equatable {
    static let algorithm = "AWS4-HMAC-SHA256"

    /// Names in lower case, joined by semicolons.
    let signedHeaders: String
    /// Method, path, query, headers, names of the headers and hash of the body, joined by newlines.
    let canonicalRequest: String
    let stringToSign: String
    /// 64 hexadecimal digits.
    let text: String

    /// - Parameters:
    ///   - request: with every header that is signed.
    ///   - payload: the hash of the body.
    ///   - time: the time of signing, which the request names as well.
    ///   - key: the signing key of `scope`.
    init(of request: AWSRequest, payload: AWSPayloadHash, at time: Timestamp, _ scope: AWSScope, key: SymmetricKey) {
        let headers = request.canonicalHeaders()
        signedHeaders = Self.names(headers)
        canonicalRequest = [
            request.method, request.path, S3Path.query(request.query),
            headers.map { "\($0.name):\($0.value)\n" }.joined(), signedHeaders, payload.text,
        ].joined(separator: "\n")
        stringToSign = [
            Self.algorithm, AWSDate.text(time), scope.text,
            Hexadecimal.text(SHA256.hash(data: Array(canonicalRequest.utf8))),
        ].joined(separator: "\n")
        text = Hexadecimal.text(HMAC<SHA256>.authenticationCode(for: Array(stringToSign.utf8), using: key))
    }

    static func names(_ headers: [HTTPField]) -> String { headers.map(\.name).joined(separator: ";") }
}
