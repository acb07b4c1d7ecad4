internal import ArgumentParser
internal import Commands
internal import HTTPClient

/// The options of `s3 put` and `s3 get` that say where an object is.
struct S3AddressOptions: ParsableArguments {
    enum Addressing: String, ExpressibleByArgument, CaseIterable {
        case path, virtual
    }

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            The URL of the store, as in https://s3.example.com or https://example.com/storage/v1/s3. (default: \
            $AWS_ENDPOINT_URL_S3, else $AWS_ENDPOINT_URL)
            """, valueName: "url"))
    var endpoint: String?

    @Option(
        name: .long, help: ArgumentHelp("The region. (default: $AWS_REGION, else us-east-1)", valueName: "name"))
    var region: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Where the bucket's name stands: in the path, or (virtual) before the host. (default: path)")
    )
    var addressing: Addressing?

    /// The endpoint of the option, else of the environment; nil where neither has one.
    func chosenEndpoint() throws -> String? {
        try endpoint ?? AWSEnvironment.endpointVariables.lazy.compactMap(Self.variable).first
    }

    /// The members of the payload that say where a URL is.
    /// - Throws: `ValidationError` where the URL has another form, or no endpoint is known.
    func members(_ url: String, option: String) throws -> [JSONValue.Member] {
        guard let endpoint = try chosenEndpoint() else {
            throw ValidationError("Give --endpoint, or set AWS_ENDPOINT_URL_S3.")
        }
        let (bucket, key) = try Self.target(url, option: option)
        var members: [JSONValue.Member] = [
            .init("endpoint", .string(endpoint)), .init("bucket", .string(bucket)), .init("key", .string(key)),
        ]
        if let region = try region ?? Self.variable("AWS_REGION") { members.append(.init("region", .string(region))) }
        if let addressing { members.append(.init("addressing", .string(addressing.rawValue))) }
        return members
    }

    private static func variable(_ name: String) throws -> String? {
        try ByteText.variable(name).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The bucket and the key of `s3://bucket/key`. The key is taken as it is, without percent-encoding.
    /// - Parameter option: what the URL is, for messages.
    static func target(_ text: String, option: String) throws -> (bucket: String, key: String) {
        let scheme = "s3://"
        guard text.beginsWithBytes(of: scheme) else {
            throw ValidationError("\(option) must be s3://bucket/key, not '\(text)'.")
        }
        let rest = text.utf8.dropFirst(scheme.utf8.count)
        let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        guard slash > rest.startIndex else { throw ValidationError("\(option) has no bucket: 's3://bucket/key'.") }
        return (String(Substring(rest[..<slash])), String(Substring(rest[slash...].dropFirst())))
    }
}
