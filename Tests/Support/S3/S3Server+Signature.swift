internal import Commands
internal import Crypto
internal import Foundation

/// Signature Version 4, written from the specification and not from the client's code.
extension S3Server {
    /// - Returns: the refusal of a wrong signature, digest, clock or bucket; nil for a right request.
    static func refusal(of request: HandledRequest, _ target: S3Target, _ state: State) -> Behaviour? {
        let now = Date(timeIntervalSinceNow: state.skew)
        if target.query["X-Amz-Signature"] != nil { return presignedRefusal(of: request, target) }
        guard let date = request["x-amz-date"].flatMap({ Self.date($0) }) else { return error(403, "AccessDenied") }
        guard abs(date.timeIntervalSince(now)) < 900 else {
            let formatter = DateFormatter()
            formatter.locale = Locale(identifier: "en_US_POSIX")
            formatter.timeZone = TimeZone(identifier: "GMT")
            formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            return error(403, "RequestTimeTooSkewed", header: "Date:\(formatter.string(from: now))")
        }
        if let token = state.token, request["x-amz-security-token"] != token { return error(400, "InvalidToken") }
        guard let signed = request["authorization"].flatMap({ Authorization($0) }) else {
            return error(403, "AccessDenied")
        }
        guard signed.accessKey == accessKey else { return error(403, "InvalidAccessKeyId") }
        guard signed.signature == signature(of: request, target, signed) else {
            return error(403, "SignatureDoesNotMatch")
        }
        let digest = request["x-amz-content-sha256"] ?? ""
        guard digest == Hexadecimal.text(SHA256.hash(data: request.body)) else {
            return error(400, "XAmzContentSHA256Mismatch")
        }
        if let stated = request["content-md5"],
            stated != Data(Insecure.MD5.hash(data: request.body)).base64EncodedString()
        {
            return error(400, "BadDigest")
        }
        return target.bucket == bucket ? nil : error(404, "NoSuchBucket")
    }

    struct Authorization {
        var accessKey: String
        /// Day, region, service and `aws4_request`.
        var scope: [String]
        var signedHeaders: [String]
        var signature: String

        init?(_ field: String) {
            guard field.hasPrefix("AWS4-HMAC-SHA256 ") else { return nil }
            var values: [String: String] = [:]
            for part in field.dropFirst(17).split(separator: ",") {
                let pair = part.trimmingCharacters(in: .whitespaces).split(separator: "=", maxSplits: 1)
                if pair.count == 2 { values[String(pair[0])] = String(pair[1]) }
            }
            let credential = (values["Credential"] ?? "").split(separator: "/").map(String.init)
            guard credential.count == 5, let names = values["SignedHeaders"], let text = values["Signature"] else {
                return nil
            }
            accessKey = credential[0]
            scope = Array(credential[1...])
            signedHeaders = names.split(separator: ";").map(String.init)
            signature = text
        }
    }

    private static func signature(
        of request: HandledRequest, _ target: S3Target, _ signed: Authorization
    ) -> String {
        // Every x-amz header that came must be signed.
        let names = Set(request.headers.map { $0.name.lowercased() }.filter { $0.hasPrefix("x-amz-") } + ["host"])
        guard names.isSubset(of: signed.signedHeaders) else { return "unsigned header" }
        let headers = signed.signedHeaders.map { name in
            let values = request.headers.filter { $0.name.lowercased() == name }
                .map { $0.value.split(separator: " ").joined(separator: " ") }
            return "\(name):\(values.joined(separator: ","))\n"
        }
        let query = target.pairs.map { (encoded($0.name), encoded($0.value)) }.sorted { $0 < $1 }
            .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
        let canonical = [
            request.method, target.path, query, headers.joined(), signed.signedHeaders.joined(separator: ";"),
            request["x-amz-content-sha256"] ?? "",
        ].joined(separator: "\n")
        let text = [
            "AWS4-HMAC-SHA256", request["x-amz-date"] ?? "", signed.scope.joined(separator: "/"),
            Hexadecimal.text(SHA256.hash(data: Data(canonical.utf8))),
        ].joined(separator: "\n")
        var key = Data("AWS4\(secretKey)".utf8)
        for part in signed.scope + [text] {
            key = Data(HMAC<SHA256>.authenticationCode(for: Data(part.utf8), using: SymmetricKey(data: key)))
        }
        return Hexadecimal.text(key)
    }

    /// A presigned request names its signed headers; the signature is the word “right” here.
    private static func presignedRefusal(of request: HandledRequest, _ target: S3Target) -> Behaviour? {
        guard target.query["X-Amz-Signature"] == "right" else { return error(403, "AccessDenied") }
        let signed = Set((target.query["X-Amz-SignedHeaders"] ?? "").split(separator: ";").map(String.init))
        let sent = Set(request.headers.map { $0.name.lowercased() })
        let amazon = sent.filter { $0.hasPrefix("x-amz-") || $0 == "content-type" || $0 == "authorization" }
        guard amazon.isSubset(of: signed), signed.isSubset(of: sent) else { return error(403, "SignatureDoesNotMatch") }
        return nil
    }

    private static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain =
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || "-._~".utf8.contains(byte)
            return isPlain ? String(UnicodeScalar(byte)) : String(format: "%%%02X", byte)
        }.joined()
    }

    private static func date(_ text: String) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "yyyyMMdd'T'HHmmss'Z'"
        return formatter.date(from: text)
    }
}
