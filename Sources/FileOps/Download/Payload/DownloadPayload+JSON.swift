internal import Commands
internal import Transfers

extension DownloadPayload {
    /// The payload as it is stored. Values that are the default are left out.
    var json: JSONValue {
        var members: [JSONValue.Member] = [.init("url", .string(url.text)), .init("to", .string(to))]
        if let s3 { members.append(.init("s3", s3.json)) }
        if !headers.isEmpty {
            members.append(.init("headers", .object(headers.map { .init($0.name, .string($0.value)) })))
        }
        switch name {
        case .ofURL: break
        case .ofServer: members.append(.init("name", "server"))
        case .text(let text): members.append(.init("name", .string(text)))
        }
        if let checksum { members.append(.init("checksum", .string(checksum.text))) }
        if let size { members.append(.init("size", .integer(size))) }
        if overwrite != .replace { members.append(.init("overwrite", .string(overwrite.rawValue))) }
        if let mode { members.append(.init("mode", Self.digits(mode))) }
        if newMode != Self.defaultMode { members.append(.init("newMode", Self.digits(newMode))) }
        if !keepTime { members.append(.init("keepTime", false)) }
        if ifChanged { members.append(.init("ifChanged", true)) }
        if maxBytes > 0 { members.append(.init("maxBytes", .integer(maxBytes))) }
        return .object(members)
    }

    private static func digits(_ mode: UInt32) -> JSONValue {
        let digits = String(mode, radix: 8)
        return .string(String(repeating: "0", count: 4 - digits.utf8.count) + digits)
    }
}
