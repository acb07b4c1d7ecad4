internal import Commands
internal import Door
internal import FlowText
internal import HTTPTypes

extension API {
    /// - Throws: ``SourceError``, which a test rules out.
    func documentEndpoints() throws(SourceError) -> [Endpoint] {
        let document = try OpenAPIDocument.json(basePath: door.basePath).bytes
        return [endpoint("/openapi.json", (.get, nil, { _ in JSONReply.response(document) }))]
    }
}
