internal import ArgumentParser
internal import Commands
internal import Operations
internal import Sluice
internal import Work

struct S3PutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Store files as objects of S3. Prints one UUID a line as soon as it is durable.",
        discussion: """
            The access key is that of the endpoint in sluice.yaml: see “credentials” in deploy/sluice.example.yaml. A file \
            of more than 8 MiB (or --part-size) goes in parts. Any worker resumes it, also after every process was killed; \
            at most the part that was under way is sent again. An upload that is cancelled is aborted at the endpoint.

            The files stay in place and must not change until they are sent; --spool copies them into the data directory \
            instead. A key that ends in a slash gets the file's name appended.

            EXAMPLES
              sluice s3 put report.pdf --to s3://media/in/ --endpoint https://s3.example.com
              sluice s3 put *.mp4 --to s3://media/in/ --endpoint https://s3.example.com --qos background --wait
              sluice s3 put disk.img --to s3://backup/disk.img --endpoint https://s3.eu-west-1.amazonaws.com \\
                --region eu-west-1 --part-size 64MiB --header 'x-amz-storage-class: STANDARD_IA'
              sluice s3 put report.pdf --presigned @url.txt
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var fields: SubmitFields
    @OptionGroup var object: S3ObjectOptions

    @Argument(help: ArgumentHelp("The files.", valueName: "file"), completion: .file())
    var files: [String]

    @Option(
        name: .long,
        help: ArgumentHelp("s3://bucket/key; a slash at the end appends the file's name.", valueName: "url"))
    var to: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The URL of the store, as in https://s3.example.com or https://example.com/storage/v1/s3.", valueName: "url"
        ))
    var endpoint: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Instead of --to and --endpoint: the URL of one signed PUT, or @file with it.", valueName: "url"))
    var presigned: String?

    @Flag(name: .long, help: "Copy the files into the data directory first (as a reflink where the file system can).")
    var spool = false

    @Flag(
        name: .long,
        help: "Delete each file after the endpoint has accepted it, and stated its length where the key may read it.")
    var removeSource = false

    @Flag(name: .long, help: "Wait until all have ended; exit 1 where one has not succeeded.")
    var wait = false

    func validate() throws {
        if files.isEmpty { throw ValidationError("Name at least one file.") }
        if presigned != nil {
            if to != nil || endpoint != nil {
                throw ValidationError("--presigned has endpoint, bucket and key: leave out --to and --endpoint.")
            }
            if files.count > 1 { throw ValidationError("A presigned URL takes one file.") }
        } else {
            guard let to, endpoint != nil else { throw ValidationError("Give --to and --endpoint, or --presigned.") }
            let key = try Self.target(to).key
            if files.count > 1, !key.isEmpty, !key.endsWithBytes(of: "/") {
                throw ValidationError("With several files, --to must end in a slash: each file's name is appended.")
            }
        }
        if spool, removeSource {
            throw ValidationError(
                "--remove-source would delete the spooled copy, which is deleted anyway: leave one out.")
        }
        if fields.uniqueKey != nil, files.count > 1 {
            throw ValidationError("--unique-key names one command: put one file at a time.")
        }
        try fields.requireKeyOfPeriod()
        _ = try object.members()
    }

    func run() async throws {
        SignalHandling.exits()
        let submission = FileSubmission(
            data: data, type: CommandType.s3, files: files, payloads: try files.map(payload), spools: spool,
            draft: draft)
        try await submission.run(asJSON: print.json, waits: wait)
    }

    private func draft(_ payload: JSONValue, _ registry: OperationRegistry) throws -> CommandDraft {
        try CommandDraft(type: CommandType.s3, payload: payload, options: fields.options, registry: registry)
    }

    private func payload(_ file: String) throws -> JSONValue {
        var members: [JSONValue.Member] = [.init("file", .string(file))]
        if let presigned {
            members.append(.init("presigned", .string(try Self.url(presigned))))
        } else {
            let (bucket, key) = try Self.target(to ?? "")
            members += [
                .init("endpoint", .string(endpoint ?? "")), .init("bucket", .string(bucket)),
                .init("key", .string(key)),
            ]
        }
        members += try object.members()
        if removeSource { members.append(.init("removeSource", .bool(true))) }
        return .object(members)
    }

    /// The bucket and the key of `s3://bucket/key`. The key is taken as it is, without percent-encoding.
    private static func target(_ text: String) throws -> (bucket: String, key: String) {
        let scheme = "s3://"
        guard text.beginsWithBytes(of: scheme) else {
            throw ValidationError("--to must be s3://bucket/key, not '\(text)'.")
        }
        let rest = text.utf8.dropFirst(scheme.utf8.count)
        let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        guard slash > rest.startIndex else { throw ValidationError("--to has no bucket: 's3://bucket/key'.") }
        return (String(Substring(rest[..<slash])), String(Substring(rest[slash...].dropFirst())))
    }

    /// The URL, or the first line of the file that `@` names. The list of processes shows arguments to every user.
    private static func url(_ text: String) throws -> String {
        guard text.utf8.first == UInt8(ascii: "@") else { return text }
        let name = String(Substring(text.utf8.dropFirst()))
        let bytes = try PayloadFile.read(name)
        guard let line = String(validating: bytes.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self) else {
            throw ExitError(.data, "\(name) is not UTF-8; it must have one URL")
        }
        return line
    }
}
