internal import Commands
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
