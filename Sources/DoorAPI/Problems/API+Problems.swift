internal import Door
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

extension API {
    /// The pages that the types of problem documents point to.
    var problemEndpoints: [Endpoint] {
        [
            Endpoint("/problems", methods: [.get: .init(scopes: nil) { _ in Self.page(Self.index) }]),
            Endpoint("/problems/{type}", methods: [.get: .init(scopes: nil, showProblem)]),
        ]
    }

    @Sendable private func showProblem(_ request: DoorRequest) async throws -> Response {
        guard let type = ProblemType.byName[request.parameters["type"] ?? ""] else {
            throw Problem(.notFound, "not-found", "The server has no such type of problem; see /problems.")
        }
        return Self.page("\(type.title) (\(type.name))\n\n\(type.meaning)\n\(type.remedy)\n")
    }

    private static let index =
        "Types of problem documents (RFC 9457)\n\n"
        + ProblemType.all.map { "\($0.name)\n    \($0.meaning) \($0.remedy)\n" }.sorted().joined()

    private static func page(_ text: String) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "text/plain; charset=utf-8", .cacheControl: "public, max-age=3600"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
