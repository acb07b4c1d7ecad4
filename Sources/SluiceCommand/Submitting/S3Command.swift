internal import ArgumentParser
internal import Commands
internal import HTTPClient
internal import Queue

struct S3Command: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "s3", abstract: "Store files as objects of S3, and get objects as files.",
        discussion: """
            \(keys)

            EXAMPLES
              sluice s3 put report.pdf --to s3://media/in/ --endpoint https://s3.example.com --wait
              sluice s3 get s3://media/in/report.pdf --endpoint https://s3.example.com --wait
            """,
        subcommands: [S3PutCommand.self, S3GetCommand.self])

    /// Where the access key comes from, for the help texts.
    static let keys = """
        The workers sign with the access key of the endpoint in sluice.yaml (“credentials” in deploy/sluice.example.yaml: \
        s3AccessKey, s3Environment or s3Profile). For an endpoint without one there, and only for https endpoints of AWS and \
        the one that AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL of the workers names, it is that of their environment \
        (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), else that of a profile (AWS_PROFILE, else “default”, in \
        AWS_SHARED_CREDENTIALS_FILE, else ~/.aws/credentials). “sluice config check” says which is found.
        """
}

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

struct S3GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Get objects of S3 as files. Prints one UUID a line as soon as it is durable.",
        discussion: """
            As “sluice get”, with signed requests: a file appears under its name when it is whole, any worker continues it \
            after a cut connection or a crash, and an object that has changed meanwhile starts over. The bytes are compared \
            with --checksum, and with the checksum of the whole object where the store states one. The ETag proves \
            nothing about them: that of an object of several parts is not the MD5 of its bytes.

            \(S3Command.keys) The key needs the right s3:GetObject.

            EXAMPLES
              sluice s3 get s3://media/in/a.mp4 --endpoint https://s3.example.com --wait
              sluice s3 get s3://media/in/a.mp4 s3://media/in/b.mp4 --endpoint https://s3.example.com --to /data/in/
              sluice s3 get s3://backup/db.dump --endpoint https://s3.eu-west-1.amazonaws.com --region eu-west-1 \\
                --to /restore/db.dump --checksum sha256:2cf24dba5fb0a30e… --overwrite fail
              sluice s3 get s3://media/daily.csv --endpoint https://s3.example.com --if-changed --wait
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var fields: SubmitFields
    @OptionGroup var address: S3AddressOptions
    @OptionGroup var download: DownloadOptions

    @Argument(help: ArgumentHelp("The objects, s3://bucket/key.", valueName: "url"))
    var urls: [String]

    @Option(
        name: .long,
        help: ArgumentHelp("The version of the object, of a bucket that keeps versions.", valueName: "id"))
    var versionID: String?

    @Flag(name: .long, help: "Wait until all have ended; exit 1 where one has not succeeded.")
    var wait = false

    func validate() throws {
        try download.require(for: urls, fields)
        if urls.count > 1, versionID != nil {
            throw ValidationError("--version-id is of one object: get one at a time.")
        }
        for url in urls { _ = try address.members(url, option: "The URL") }
    }

    func run() async throws {
        SignalHandling.exits()
        let payloads = try urls.map(payload)
        try await DownloadSubmission(data: data, fields: fields, urls: urls, payloads: payloads)
            .run(asJSON: print.json, waits: wait)
    }

    private func payload(_ url: String) throws -> JSONValue {
        var object = try address.members(url, option: "The URL")
        if let versionID { object.append(.init("versionId", .string(versionID))) }
        return .object([.init("s3", .object(object))] + (try download.members()))
    }
}
