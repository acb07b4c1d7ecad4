internal import ArgumentParser
internal import Commands

/// The options of an object of S3.
struct S3ObjectOptions: ParsableArguments {
    enum Checksum: String, ExpressibleByArgument, CaseIterable {
        case sha256, md5, crc32c, none
    }

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Bytes of a part, as in 16MiB: 5 MiB to 5 GiB. (default: 8MiB, or the least for 10,000 parts)",
            valueName: "size"))
    var partSize: String?

    @Option(name: .long, help: ArgumentHelp("The media type. (default: by the file's name)", valueName: "type"))
    var contentType: String?

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp("Metadata, as in title=a. May be given several times.", valueName: "name=value"))
    var metadata: [String] = []

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp("A header of the object, as in 'x-amz-acl: private'.", valueName: "header"))
    var header: [String] = []

    @Flag(name: .long, help: "Never replace an object.")
    var ifAbsent = false

    @Option(name: .long, help: ArgumentHelp("How the endpoint checks the bytes. (default: sha256)"))
    var checksum: Checksum?

    /// - Throws: `ValidationError` for a header or an entry of the metadata that has another form.
    func members() throws -> [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        if let partSize { members.append(.init("partSize", .string(partSize))) }
        if let contentType { members.append(.init("contentType", .string(contentType))) }
        if !metadata.isEmpty { members.append(.init("metadata", .object(try metadata.map(Self.entry)))) }
        let headers = try HeaderArgument.members(header)
        if !headers.isEmpty { members.append(.init("headers", .object(headers))) }
        if ifAbsent { members.append(.init("ifAbsent", .bool(true))) }
        if let checksum { members.append(.init("checksum", .string(checksum.rawValue))) }
        return members
    }

    private static func entry(_ text: String) throws -> JSONValue.Member {
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "=")), mark > text.startIndex else {
            throw ValidationError("--metadata must be name=value, not '\(text)'.")
        }
        return .init(String(text[..<mark]), .string(String(Substring(text.utf8[mark...].dropFirst()))))
    }
}
