import Commands
import Door
import HTTPTypes
import NIOCore
import Store
import Synchronization
import TestSupport
import Testing
import Uploads

@testable import Door

/// Sends requests to the upload endpoints as the dispatcher does, without sockets.
struct UploadsClient {
    var uploads = FakeUploads()
    var options = UploadsOptions()
    var principal: Principal? = Principal(token: "studio", name: "Studio", scopes: [.upload])
    var routes: Set<String> = ["archive", "media"]
    /// The fields after the body of each request.
    var trailers: HTTPFields?

    func send(
        _ method: HTTPRequest.Method, _ path: String, _ fields: HTTPFields = [:], query: [(String, String)] = [],
        body: [UInt8] = []
    ) async throws -> UploadsAnswer {
        var fields = fields
        if !fields.contains(.contentLength), !fields.contains(.transferEncoding) {
            fields[.contentLength] = "\(body.count)"
        }
        return try await send(
            method, path, fields, query: query, body: RequestBody(buffer: ByteBuffer(bytes: body)))
    }

    func send(
        _ method: HTTPRequest.Method, _ path: String, _ fields: HTTPFields, query: [(String, String)] = [],
        body: RequestBody
    ) async throws -> UploadsAnswer {
        let interim = Mutex<[UploadsAnswer]>([])
        let parts = path.split(separator: "/").map(String.init)
        var request = DoorRequest(
            method: method, path: parts, query: DoorQuery(query.map { (name: $0.0, value: $0.1) }), fields: fields,
            body: body, id: "request-1", client: "127.0.0.1", baseURL: "https://door.example/base"
        ) { status, fields in
            interim.withLock { $0.append(UploadsAnswer(status: status.code, fields: fields)) }
        }
        request.principal = principal
        request.trailers = { [trailers] in trailers }
        let endpoints = UploadsResource(uploads, routes: routes, options: options).endpoints
        let endpoint = try #require(endpoints.first { $0.path.split(separator: "/").count == parts.count })
        if parts.count == 2 { request.parameters["id"] = parts[1] }
        var answer: UploadsAnswer
        do {
            answer = try await UploadsAnswer(response(endpoint, request))
        } catch let problem as Problem {
            answer = UploadsAnswer(problem)
        }
        answer.interim = interim.withLock(\.self)
        return answer
    }

    /// A response of the dispatcher to a request for an upload, as the endpoint changes it.
    func decorated(_ method: HTTPRequest.Method, _ fields: HTTPFields, status: Int) throws -> UploadsAnswer {
        let endpoints = UploadsResource(uploads, routes: routes, options: options).endpoints
        let request = DoorRequest(
            method: method, path: [], query: DoorQuery(), fields: fields, body: RequestBody(buffer: ByteBuffer()),
            id: "request-1", client: "127.0.0.1", baseURL: ""
        ) { _, _ in }
        var response = Response(status: .init(code: status))
        for endpoint in endpoints {
            let decorate = try #require(endpoint.decorate)
            decorate(request, &response)
        }
        return UploadsAnswer(status: response.status.code, fields: response.headers)
    }

    /// A body of these chunks, which then ends, or is cut.
    static func stream(_ chunks: [[UInt8]], isCut: Bool = false) -> RequestBody {
        stream(chunks, error: isCut ? Missed("the client has closed the connection") : nil)
    }

    /// - Parameter error: ends the body; nil: it is whole.
    static func stream(_ chunks: [[UInt8]], error: (any Error)?) -> RequestBody {
        RequestBody(
            asyncSequence: AsyncThrowingStream { source in
                for chunk in chunks { source.yield(ByteBuffer(bytes: chunk)) }
                source.finish(throwing: error)
            })
    }

    private func response(_ endpoint: Endpoint, _ request: DoorRequest) async throws -> Response {
        if request.method == .options {
            let handle = try #require(endpoint.options)
            return try await handle(request)
        }
        guard let method = endpoint.methods[request.method] else {
            throw Problem(.methodNotAllowed, "method-not-allowed", "The path has no such method.")
        }
        if let principal, let scopes = method.scopes, scopes.isDisjoint(with: principal.scopes) {
            throw Problem(.forbidden, "scope", "The token has none of the scopes.")
        }
        return try await method.handle(request)
    }
}
