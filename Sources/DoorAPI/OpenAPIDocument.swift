internal import Commands
internal import Door
internal import FlowText
internal import HTTPTypes

/// The description of the API (OpenAPI 3.1). It is written by hand as YAML, and served as JSON.
enum OpenAPIDocument {
    /// - Parameter basePath: as in ``Door/DoorServerConfiguration/basePath``.
    /// - Throws: ``SourceError`` where the text is not YAML, which a test rules out.
    static func json(basePath: String) throws(SourceError) -> JSONValue {
        let value = try YAMLText.parse(PackageResources.openapi_yaml).value
        guard let members = value.members else { return value }
        let servers = JSONValue.Member("servers", [["url": .string("\(basePath)\(API.root)")]])
        return .object(members + [servers])
    }
}

extension API {
    /// - Throws: ``SourceError``, which a test rules out.
    func documentEndpoints() throws(SourceError) -> [Endpoint] {
        let document = try OpenAPIDocument.json(basePath: door.basePath).bytes
        return [endpoint("/openapi.json", (.get, nil, { _ in JSONReply.response(document) }))]
    }
}
