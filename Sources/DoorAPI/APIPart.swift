internal import Commands
package import Door
internal import FlowText
internal import HTTPTypes

/// The API `/api/v1`.
package struct APIPart: DoorPart {
    private let actions: ActionRuns

    /// - Parameter actions: the bulk actions of the door, which the pages begin too.
    package init(_ actions: ActionRuns) { self.actions = actions }

    package func endpoints(_ context: DoorContext) async throws -> [Endpoint] {
        let api = API(context, actions: actions)
        return api.commandEndpoints + api.controlEndpoints + api.actionEndpoints + api.systemEndpoints
            + api.relationEndpoints + api.settingEndpoints + api.limitEndpoints + api.scheduleEndpoints
            + api.webhookEndpoints + api.uploadEndpoints
            + api.tokenEndpoints
            + api.problemEndpoints
            + (try api.documentEndpoints())
    }

    package func run(_ context: DoorContext) async throws {
        do { try await Task.sleep(for: .seconds(Int64.max / 1_000_000_000)) } catch { await actions.stop() }
    }
}

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
