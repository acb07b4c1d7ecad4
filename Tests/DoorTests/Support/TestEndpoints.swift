import Door
import HTTPTypes
import NIOCore

/// Endpoints that show what the server does with requests and responses.
enum TestEndpoints {
    static let all = [
        Endpoint("/hello", methods: [.get: .init(scopes: nil) { _ in text("hello") }]),
        Endpoint(
            "/echo", methods: [.post: .init(scopes: nil) { text(try await $0.bodyText) }]),
        Endpoint(
            "/refuse",
            methods: [.post: .init(scopes: nil) { _ in throw Problem(.contentTooLarge, "too-large", "Too large.") }]),
        Endpoint("/fail", methods: [.get: .init(scopes: nil) { _ in throw Unexpected() }]),
        Endpoint(
            "/facts/{name}",
            methods: [
                .get: .init(scopes: nil) { text("\($0.parameters) \($0.client) \($0.baseURL) \($0.query.items)") }
            ]),
        Endpoint("/endless", methods: [.get: .init(scopes: nil) { _ in endless() }]),
        Endpoint(
            "/exact",
            methods: [.post: .init(scopes: nil) { request in text(try await request.bytes(5)) }]),
        {
            var health = Endpoint("/healthz", methods: [.get: .init(scopes: nil) { _ in text("ok") }])
            health.isEssential = true
            health.needsHost = false
            return health
        }(),
        Endpoint("/stream", methods: [.get: .init(scopes: nil) { _ in stream(parts: 3) }]),
        Endpoint("/large", methods: [.get: .init(scopes: nil) { _ in text(String(repeating: "x", count: 16 << 20)) }]),
        Endpoint("/scoped", methods: [.get: .init(scopes: [.read, .control]) { _ in text("permitted") }]),
        Endpoint("/count", methods: [.post: .init(scopes: nil, count)]),
        Endpoint(
            "/interim",
            methods: [
                .post: .init(scopes: nil) { request in
                    try await request.sendInterim(.init(code: 104), [.location: "/uploads/1"])
                    return text(try await request.bodyText)
                }
            ]),
        {
            let method = Endpoint.Method(scopes: nil) { text("\($0.method)") }
            var endpoint = Endpoint(
                "/uploads", methods: [.post: method, .patch: method],
                allowsOtherOrigins: true)
            endpoint.allowsMethodOverride = true
            endpoint.decorate = { $1.headers[.server] = "decorated" }
            return endpoint
        }(),
    ]

    /// Counts the bytes of the body, and says how it ended.
    private static func count(_ request: DoorRequest) async throws -> Response {
        var bytes = 0
        do {
            for try await part in request.body { bytes += part.readableBytes }
        } catch is CancellationError {
            return text("cancelled after \(bytes)")
        }
        return text("\(bytes) \(request.trailers().map { $0.map { "\($0.name)=\($0.value)" } } ?? [])")
    }

    static func text(_ text: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: "text/plain"],
            body: Response.Body(byteBuffer: ByteBuffer(string: text))
        )
    }

    private static func stream(parts: Int) -> Response {
        Response(
            status: .ok, headers: [.contentType: "text/plain"],
            body: Response.Body { writer in
                for part in 1...parts { try await writer.write(ByteBuffer(string: "part \(part)\n")) }
                try await writer.finish(nil)
            })
    }

    /// Writes once, and then waits for its cancellation.
    private static func endless() -> Response {
        Response(
            status: .ok,
            body: Response.Body { writer in
                try await writer.write(ByteBuffer(string: "tick\n"))
                try await Task.sleep(for: .seconds(3600))
                try await writer.finish(nil)
            })
    }

    struct Unexpected: Error {}
}
