internal import Commands
internal import Crypto
internal import HTTPClient
internal import Transfers

/// Signs requests with one credential for one region. Every attempt is signed anew: a repeated signature ends
/// in RequestTimeTooSkewed after 15 minutes.
struct AWSSigner: Sendable {
    /// The maximum validity of a presigned query: 7 days.
    static let maxValidity: Duration = .seconds(604_800)

    let credential: AWSCredential
    let region: String
    var service = "s3"

    /// Signs in the header `Authorization`.
    /// - Parameters:
    ///   - request: the request with all its headers but `Host`.
    ///   - payload: the hash of the body.
    ///   - time: this host's clock, corrected by the endpoint's ``S3ClockOffset``.
    ///   - keys: the signing keys so far.
    /// - Returns: the headers to send in place of those of `request`, without `Host`.
    func headers(
        for request: AWSRequest, payload: AWSPayloadHash, at time: Timestamp, keys: inout AWSSigningKeys
    ) -> [HTTPField] {
        var request = request
        request.headers.removeAll { AWSRequest.ownNames.contains($0.lowerName) }
        request.headers.append(HTTPField("x-amz-date", AWSDate.text(time)))
        request.headers.append(HTTPField("x-amz-content-sha256", payload.text))
        if let token = credential.sessionToken { request.headers.append(HTTPField("x-amz-security-token", token)) }
        let (signature, scope) = sign(request, payload, at: time, &keys)
        let authorization =
            "\(AWSSignature.algorithm) Credential=\(credential.accessKey)/\(scope.text), "
            + "SignedHeaders=\(signature.signedHeaders), Signature=\(signature.text)"
        return request.headers + [HTTPField("Authorization", authorization)]
    }

    /// Signs in the query, so that a client without the credential can send the request.
    /// - Parameters:
    ///   - request: the request. Exactly its signed headers must be sent.
    ///   - validity: from `time` on, in whole seconds; clamped to 1 s…``maxValidity``.
    /// - Returns: the query to send, with the signature at its end. It is a secret.
    func query(
        for request: AWSRequest, validity: Duration, at time: Timestamp, keys: inout AWSSigningKeys
    ) -> String {
        let scope = AWSScope(at: time, region: region, service: service)
        let seconds = min(max(validity, .seconds(1)), Self.maxValidity).milliseconds / 1000
        var added = [
            S3QueryItem("X-Amz-Algorithm", AWSSignature.algorithm),
            S3QueryItem("X-Amz-Credential", "\(credential.accessKey)/\(scope.text)"),
            S3QueryItem("X-Amz-Date", AWSDate.text(time)), S3QueryItem("X-Amz-Expires", String(seconds)),
            S3QueryItem("X-Amz-SignedHeaders", AWSSignature.names(request.canonicalHeaders())),
        ]
        if let token = credential.sessionToken { added.append(S3QueryItem("X-Amz-Security-Token", token)) }
        var signed = request
        signed.query += added
        let (signature, _) = sign(signed, .unsigned, at: time, &keys)
        return "\(S3Path.query(signed.query))&X-Amz-Signature=\(signature.text)"
    }

    /// - Returns: the signature, for tests and ``headers(for:payload:at:keys:)``, and its scope.
    func sign(
        _ request: AWSRequest, _ payload: AWSPayloadHash, at time: Timestamp, _ keys: inout AWSSigningKeys
    ) -> (AWSSignature, AWSScope) {
        let scope = AWSScope(at: time, region: region, service: service)
        let key = keys.key(for: credential, scope)
        return (AWSSignature(of: request, payload: payload, at: time, scope, key: key), scope)
    }
}

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

/// Day, region and service for which a signature is valid: `20130524/us-east-1/s3/aws4_request`.
struct AWSScope: Sendable, Hashable {
    /// `20130524`
    let day: String
    let region: String
    let service: String

    init(at time: Timestamp, region: String, service: String = "s3") {
        day = String(AWSDate.text(time).prefix(8))
        self.region = region
        self.service = service
    }

    var text: String { "\(day)/\(region)/\(service)/aws4_request" }
}

/// A time in the form of `x-amz-date`: `20130524T000000Z`.
enum AWSDate {
    /// The time in whole seconds, rounded down. Years beyond 0 to 9999 are clamped.
    static func text(_ time: Timestamp) -> String {
        // 2013-05-24T00:00:00.000Z
        let digits = time.description.utf8.prefix(19).filter { $0.isDigit || $0 == UInt8(ascii: "T") }
        return String(decoding: digits, as: UTF8.self) + "Z"
    }

    /// - Returns: nil where `text` is not of that form.
    static func time(_ text: some StringProtocol) -> Timestamp? {
        let bytes = Array(text.utf8)
        guard bytes.count == 16, bytes[8] == UInt8(ascii: "T"), bytes[15] == UInt8(ascii: "Z") else { return nil }
        let parts = [0..<4, 4..<6, 6..<8, 9..<11, 11..<13, 13..<15].map {
            String(decoding: bytes[$0], as: UTF8.self)
        }
        return Timestamp(
            rfc3339: "\(parts[0])-\(parts[1])-\(parts[2])T\(parts[3]):\(parts[4]):\(parts[5])Z")
    }
}
