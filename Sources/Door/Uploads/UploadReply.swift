internal import Commands
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// A response of the upload protocols that is not a problem.
struct UploadReply: Equatable {
    var status: HTTPResponse.Status
    var fields: HTTPFields = [:]
    /// Nil for an empty body.
    var body: JSONValue?

    var response: Response {
        guard let body else { return Response(status: status, headers: fields) }
        var fields = fields
        fields[.contentType] = "application/json"
        return Response(status: status, headers: fields, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body.bytes)))
    }
}
