internal import Commands
internal import FlowText

/// The description of the API (OpenAPI 3.1). It is written by hand as YAML, and served as JSON.
enum OpenAPIDocument {
    /// - Parameter basePath: as in ``Door/DoorServerConfiguration/basePath``.
    /// - Throws: ``SourceError`` where the text is not YAML, which a test rules out.
    static func json(basePath: String) throws(SourceError) -> JSONValue {
        let parts = [head, commandPaths, controlPaths, systemPaths, relationPaths, uploadPaths, tokenPaths, components]
        let value = try YAMLText.parse(Array(parts.joined(separator: "\n").utf8)).value
        guard let members = value.members else { return value }
        let servers = JSONValue.Member("servers", [["url": .string("\(basePath)\(API.root)")]])
        return .object(members + [servers])
    }

    static let head = """
        openapi: 3.1.0
        info:
          title: Sluice
          version: v1
          description: >-
            Commands, flows, links and uploads of one Sluice. Members may be added in v1; none is removed or changes its
            meaning. Every error is a problem document (RFC 9457) whose type is a page of the server.
          license: {name: See the project, identifier: LicenseRef-Sluice}
        tags:
          - {name: commands, description: "One unit of work each, with its timeline"}
          - {name: control, description: "Changes of commands, links and schedules"}
          - {name: system, description: "Counts, workers, links and settings"}
          - {name: relations, description: "Flows, batches and schedules"}
          - {name: uploads, description: "Uploads that clients send to the server"}
          - {name: tokens, description: "Tokens for uploads that a token makes"}
          - {name: events, description: "Streams of events"}
          - {name: waits, description: "Requests that may wait for a change"}
          - {name: lines, description: "Bodies with a JSON text a line"}
        paths:
        """
}
