internal import Commands
internal import HTTPClient

/// An error of S3: a status, and an `<Error>` where the body has one.
package struct S3Refusal: Sendable, Equatable {
    var status: Int
    /// `NoSuchBucket`, for example; nil where the body has no error, as in the answer to HEAD.
    var code: String?
    /// Text of the endpoint in one line.
    var message: String?
    /// The right region, of `<Region>` or `x-amz-bucket-region`.
    var region: String?
    /// The right endpoint of a redirect.
    var endpoint: String?
    /// The clock of the endpoint.
    var serverTime: Timestamp?
    /// When a presigned URL became invalid.
    var expires: Timestamp?
    /// `Retry-After` as it came.
    var retryAfter: String?

    init(status: Int, code: String? = nil) {
        self.status = status
        self.code = code
    }

    package init(_ response: S3Response) {
        self.init(response, try? XMLRecord(response.body))
    }

    /// - Parameter document: the body, as far as it is XML.
    init(_ response: S3Response, _ document: XMLRecord?) {
        status = response.status
        region = response.header("x-amz-bucket-region").map { SingleLine.text($0, limit: 64) }
        retryAfter = response.header("retry-after")
        serverTime = response.date("date")
        guard let document, document.root == "Error" else { return }
        code = document.word("Code").map { SingleLine.text($0, limit: 64) }
        message = document.word("Message").map { SingleLine.text($0, limit: 200) }
        region = document.word("Region").map { SingleLine.text($0, limit: 64) } ?? region
        endpoint = document.word("Endpoint").map { SingleLine.text($0, limit: 256) }
        serverTime = serverTime ?? document.word("ServerTime").flatMap { Timestamp(rfc3339: $0) }
        expires = document.word("Expires").flatMap { Timestamp(rfc3339: $0) }
    }

    /// Whether the access key has no right to the request.
    var isDenied: Bool { code.map { $0 == "AccessDenied" } ?? (status == 403) }

    /// Status, code and message in a sentence: `403 AccessDenied: “Access Denied”`.
    package var text: String {
        let name = code.map { " \($0)" } ?? ""
        return "\(status)\(name)\(message.map { ": “\($0)”" } ?? "")"
    }
}
