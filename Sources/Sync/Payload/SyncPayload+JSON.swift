internal import Commands
internal import Transfers

extension SyncPayload {
    /// The payload as it is stored; ``init(_:)`` reads it.
    var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("url", .string(url.text)), .init("collection", .string(collection)),
            .init("items", .string(items.text)), .init("key", keyJSON), .init("mode", .string(mode.rawValue)),
            .init("merge", .string(merge.rawValue)),
        ]
        for (name, pointer) in [("version", version), ("deleted", deleted), ("deletedItems", deletedItems)] {
            if let pointer { members.append(.init(name, .string(pointer.text))) }
        }
        if pages != .one { members.append(.init("pages", pages.json)) }
        if let since { members.append(.init("since", since.json)) }
        if !isConditional { members.append(.init("conditional", false)) }
        if !columns.isEmpty {
            members.append(.init("columns", .object(columns.map { .init($0.name, .string($0.pointer.text)) })))
        }
        if format != .json { members.append(.init("format", .string(format.rawValue))) }
        if !headers.isEmpty { members.append(.init("headers", headersJSON)) }
        if allowEmpty { members.append(.init("allowEmpty", true)) }
        if maxDelete != .standard { members.append(.init("maxDelete", maxDelete.json)) }
        if maxRecord != Self.maxRecord { members.append(.init("maxRecord", .integer(maxRecord))) }
        if maxRejects != Self.maxRejects { members.append(.init("maxRejects", .integer(maxRejects))) }
        if maxBytes != Self.maxBytes { members.append(.init("maxBytes", .integer(maxBytes))) }
        return .object(members)
    }

    /// The part of the payload on which the answers of the server, and their meaning, depend. A stored token
    /// or validator is used only by a sync of the same identity.
    var identity: JSONValue {
        var members: [JSONValue.Member] = [
            .init("url", .string(url.text)), .init("items", .string(items.text)), .init("key", keyJSON),
            .init("mode", .string(mode.rawValue)), .init("format", .string(format.rawValue)),
            .init("pages", pages.identity), .init("since", since?.identity ?? nil), .init("headers", headersJSON),
            .init("maxRecord", .integer(maxRecord)),
        ]
        for (name, pointer) in [("version", version), ("deleted", deleted), ("deletedItems", deletedItems)] {
            members.append(.init(name, pointer.map { .string($0.text) } ?? nil))
        }
        return .object(members)
    }

    /// A short form of ``identity``, which also hides the values of its headers.
    var fingerprint: String { String(StableHash.of(identity.bytes), radix: 16) }

    private var keyJSON: JSONValue {
        key.count == 1 ? .string(key[0].text) : .array(key.map { .string($0.text) })
    }

    private var headersJSON: JSONValue { .object(headers.map { .init($0.name, .string($0.value)) }) }
}
